/*
 * The exec functions. In a hosted rank they would replace all ranks of the process, so they are refused there; in its children and
 * in an ordinary process they are libc's.
 */
#define _GNU_SOURCE
#include "corelace_program.h"

#include <errno.h>
#include <stdarg.h>
#include <unistd.h>

static int refused(const char *call) {
    if (!corelace_rank_start || corelace_in_child()) {
        return 0;
    }
    fprintf(stderr,
            "corelace: rank %d calls %s, which would replace all ranks of this process: it is refused (fork first, or use --ranks "
            "process)\n",
            corelace_rank_start->rank, call);
    errno = EPERM;
    return 1;
}

CORELACE_REPLACES_LIBC int execve(const char *file, char *const words[], char *const variables[]) {
    return refused("execve") ? -1 : LIBC(execve)(file, words, variables);
}

CORELACE_REPLACES_LIBC int execv(const char *file, char *const words[]) {
    return refused("execv") ? -1 : LIBC(execv)(file, words);
}

CORELACE_REPLACES_LIBC int execvp(const char *file, char *const words[]) {
    return refused("execvp") ? -1 : LIBC(execvp)(file, words);
}

CORELACE_REPLACES_LIBC int execvpe(const char *file, char *const words[], char *const variables[]) {
    return refused("execvpe") ? -1 : LIBC(execvpe)(file, words, variables);
}

CORELACE_REPLACES_LIBC int fexecve(int fd, char *const words[], char *const variables[]) {
    return refused("fexecve") ? -1 : LIBC(fexecve)(fd, words, variables);
}

/* The forms with a list: as those with an array, which is made on the stack, for a child may not allocate. */
#define WITH_LIST(name, call)                                                \
    CORELACE_REPLACES_LIBC int name(const char *file, const char *word, ...) { \
        va_list list;                                                        \
        va_start(list, word);                                                \
        size_t count = 1;                                                    \
        for (const char *next = word; next; next = va_arg(list, const char *)) { \
            count++;                                                         \
        }                                                                    \
        va_end(list);                                                        \
        char *words[count];                                                  \
        va_start(list, word);                                                \
        words[0] = (char *)word;                                             \
        for (size_t at = 1; at < count; at++) {                              \
            words[at] = va_arg(list, char *);                                \
        }                                                                    \
        char *const *variables = AFTER_LIST_##name;                          \
        va_end(list);                                                        \
        (void)variables;                                                     \
        return call;                                                         \
    }

#define AFTER_LIST_execl NULL
#define AFTER_LIST_execlp NULL
#define AFTER_LIST_execle va_arg(list, char *const *)

WITH_LIST(execl, execv(file, words))
WITH_LIST(execlp, execvp(file, words))
WITH_LIST(execle, execve(file, words, variables))
