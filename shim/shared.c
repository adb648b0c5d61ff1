/*
 * What ranks of one process share whatever this archive does: working directory, environment, locale, signal handlers.
 *
 * The calls that change them go to libc unchanged; in a hosted rank the first of each kind says what it means. The ranks
 * count their warnings in one word of the host, so that 192 of them do not say the same thing.
 */
#define _GNU_SOURCE
#include "corelace_program.h"

#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum subject { DIRECTORY, ENVIRONMENT, LOCALE, SIGNALS };

static void note(enum subject subject, const char *call) {
    static const char *const what[] = {"the working directory", "the environment", "the locale", "signal handlers"};
    const struct corelace_start *start = corelace_rank_start;
    if (start && start->warned && !(__atomic_fetch_or(start->warned, 1u << subject, __ATOMIC_RELAXED) & 1u << subject)) {
        fprintf(stderr,
                "corelace: rank %d calls %s: ranks that are threads or fibers share %s (--ranks process gives each its "
                "own); further calls are not reported\n",
                start->rank, call, what[subject]);
    }
}

CORELACE_REPLACES_LIBC int chdir(const char *path) {
    note(DIRECTORY, "chdir");
    return LIBC(chdir)(path);
}

CORELACE_REPLACES_LIBC int fchdir(int fd) {
    note(DIRECTORY, "fchdir");
    return LIBC(fchdir)(fd);
}

CORELACE_REPLACES_LIBC int setenv(const char *name, const char *value, int overwrite) {
    note(ENVIRONMENT, "setenv");
    return LIBC(setenv)(name, value, overwrite);
}

CORELACE_REPLACES_LIBC int unsetenv(const char *name) {
    note(ENVIRONMENT, "unsetenv");
    return LIBC(unsetenv)(name);
}

CORELACE_REPLACES_LIBC int putenv(char *setting) {
    note(ENVIRONMENT, "putenv");
    return LIBC(putenv)(setting);
}

CORELACE_REPLACES_LIBC char *setlocale(int category, const char *name) {
    if (name) {
        note(LOCALE, "setlocale");
    }
    return LIBC(setlocale)(category, name);
}

CORELACE_REPLACES_LIBC sighandler_t signal(int number, sighandler_t handler) {
    note(SIGNALS, "signal");
    return LIBC(signal)(number, handler);
}

CORELACE_REPLACES_LIBC int sigaction(int number, const struct sigaction *action, struct sigaction *old) {
    if (action) {
        note(SIGNALS, "sigaction");
    }
    return LIBC(sigaction)(number, action, old);
}
