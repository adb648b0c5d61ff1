/*
 * What a rank has in common with a process: children, a number, and the processor time it has used.
 *
 * fork in a hosted rank makes an ordinary process: it gets the rank's streams as its descriptors 0, 1 and 2, and ends by
 * itself (see entry.c). vfork is fork there: a child that borrowed the stack of a fiber would change what its rank goes on with.
 */
#define _GNU_SOURCE
#include "corelace_program.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/times.h>
#include <sys/wait.h>
#include <unistd.h>

int corelace_forked;

/* In a child that was just made: its streams are those of its rank. */
static void settle(void) {
    int input = corelace_rank_start->stdin_fd >= 0 ? fileno(stdin) : -1;
    int mine[] = {input, corelace_own(STDOUT_FILENO), corelace_own(STDERR_FILENO)};
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (mine[fd] > STDERR_FILENO) {
            LIBC(dup2)(mine[fd], fd);
        }
    }
    corelace_forked = 1;
}

CORELACE_REPLACES_LIBC pid_t fork(void) {
    pid_t child = LIBC(fork)();
    if (!child && corelace_rank_start && !corelace_forked) {
        settle();
    }
    return child;
}

/*
 * libc's vfork must be jumped to: the frame of a caller in between would be gone when the parent returns through it.
 */
CORELACE_INTERNAL __attribute__((used)) void *corelace_vfork_target(void) {
    return corelace_is_hosted() ? (void *)&fork : corelace_libc("vfork");
}

#if defined(__x86_64__)
__asm__(".pushsection .text\n"
        ".weak vfork\n"
        ".hidden vfork\n"
        ".type vfork, @function\n"
        "vfork:\n"
        "    subq $8, %rsp\n"
        "    call corelace_vfork_target\n"
        "    addq $8, %rsp\n"
        "    jmp *%rax\n"
        ".size vfork, . - vfork\n"
        ".popsection\n");
#else
CORELACE_REPLACES_LIBC pid_t vfork(void) { return fork(); }
#endif

/* libc's own would leave its output to the host. */
CORELACE_REPLACES_LIBC int system(const char *command) {
    if (!corelace_rank_start || !command) {
        return LIBC(system)(command);
    }
    pid_t child = fork();
    if (!child) {
        execl("/bin/sh", "sh", "-c", command, (char *)0);
        LIBC(_exit)(127);
    }
    int status = -1;
    while (child > 0 && waitpid(child, &status, 0) < 0) {
        status = -1;
        if (errno != EINTR) {
            break;
        }
    }
    return status;
}

CORELACE_REPLACES_LIBC pid_t getpid(void) {
    corelace_note(SHARED_PROCESS_ID, "getpid");
    return LIBC(getpid)();
}

/*
 * Processor time. That of a rank with a thread of its own is the thread's, without those that it has made. Fibers share theirs:
 * telling them apart would cost each switch a look at a clock.
 */
static int by_thread(const char *call) {
    if (!corelace_rank_start || corelace_forked) {
        return 0;
    }
    if (corelace_rank_start->fibers) {
        corelace_note(SHARED_PROCESSOR_TIME, call);
        return 0;
    }
    return 1;
}

CORELACE_REPLACES_LIBC int clock_gettime(clockid_t clock, struct timespec *time) {
    if (clock == CLOCK_PROCESS_CPUTIME_ID && by_thread("clock_gettime(CLOCK_PROCESS_CPUTIME_ID)")) {
        clock = corelace_rank_clock();
    }
    return LIBC(clock_gettime)(clock, time);
}

CORELACE_REPLACES_LIBC clock_t clock(void) {
    struct timespec time;
    if (!by_thread("clock") || LIBC(clock_gettime)(corelace_rank_clock(), &time)) {
        return LIBC(clock)();
    }
    return (clock_t)time.tv_sec * CLOCKS_PER_SEC + (clock_t)(time.tv_nsec / (1000000000 / CLOCKS_PER_SEC));
}

/* The kernel tells a thread of itself only; asked elsewhere than on the rank's own, the caller's is what can be had. */
CORELACE_REPLACES_LIBC int getrusage(__rusage_who_t who, struct rusage *usage) {
    if (who == RUSAGE_SELF && by_thread("getrusage")) {
        who = RUSAGE_THREAD;
    }
    return LIBC(getrusage)(who, usage);
}

static clock_t ticks(struct timeval time) {
    long second = sysconf(_SC_CLK_TCK);
    return (clock_t)(time.tv_sec * second + time.tv_usec * second / 1000000);
}

CORELACE_REPLACES_LIBC clock_t times(struct tms *used) {
    clock_t now = LIBC(times)(used);
    struct rusage mine;
    if (used && by_thread("times") && !LIBC(getrusage)(RUSAGE_THREAD, &mine)) {
        used->tms_utime = ticks(mine.ru_utime);
        used->tms_stime = ticks(mine.ru_stime);
    }
    return now;
}
