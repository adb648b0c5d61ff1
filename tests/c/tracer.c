/* A debugger that stops a process, says "held", and lets go of it only by dying.
 * usage: tracer PID */
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    pid_t process = argc > 1 ? (pid_t)atol(argv[1]) : 0;
    int status;

    if (ptrace(PTRACE_ATTACH, process, NULL, NULL) != 0 || waitpid(process, &status, __WALL) != process) {
        perror("tracer: cannot hold the process");
        return 1;
    }
    puts("held");
    fflush(stdout);
    for (;;) pause();
}
