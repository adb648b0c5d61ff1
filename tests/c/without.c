/* Runs a command in which some system calls fail, as a container's filter makes them fail.
 *
 *     without NAME[=ERROR]... -- COMMAND [ARGUMENT]...
 *
 * ERROR is EPERM (the default) or ENOSYS. Plain C: it is the surroundings of a job, not a part of it. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
    const char *name;
    unsigned number;
} calls[] = {
    {"process_vm_readv", SYS_process_vm_readv},
    {"process_vm_writev", SYS_process_vm_writev},
    {"membarrier", SYS_membarrier},
    {"pidfd_open", SYS_pidfd_open},
    {"memfd_create", SYS_memfd_create},
    {"sched_setaffinity", SYS_sched_setaffinity},
    {"sched_getaffinity", SYS_sched_getaffinity},
};

int main(int argc, char **argv)
{
    struct sock_filter filter[64];
    unsigned short length = 0;
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    int at = 1;
    for (; at < argc && strcmp(argv[at], "--") != 0; at++) {
        unsigned error = EPERM;
        char *given = strchr(argv[at], '=');
        if (given) {
            *given++ = 0;
            error = strcmp(given, "ENOSYS") == 0 ? ENOSYS : EPERM;
        }
        size_t index = 0;
        while (index < sizeof calls / sizeof *calls && strcmp(calls[index].name, argv[at]) != 0)
            index++;
        if (index == sizeof calls / sizeof *calls || length + 3u > sizeof filter / sizeof *filter) {
            fprintf(stderr, "without: %s is no call that this program knows\n", argv[at]);
            return 2;
        }
        filter[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[index].number, 0, 1);
        filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error);
    }
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    if (at + 1 >= argc) {
        fprintf(stderr, "usage: without NAME[=ERROR]... -- COMMAND [ARGUMENT]...\n");
        return 2;
    }
    struct sock_fprog program = {length, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        perror("without: seccomp");
        return 2;
    }
    execvp(argv[at + 1], argv + at + 1);
    perror("without: exec");
    return 127;
}
