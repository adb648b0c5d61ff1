/*
 * What ranks of one process share whatever this archive does: working directory, environment, locale, signal handlers, timers, and,
 * if they are fibers, what belongs to a thread.
 *
 * The calls that change them go to libc unchanged (but for the affinity of fibers: one rank would move the others); in a hosted rank the first of each kind says what it means. The ranks
 * count their warnings in one word of the host, so that 192 of them do not say the same thing.
 */
#define _GNU_SOURCE
#include "corelace_program.h"

#include <dlfcn.h>
#include <errno.h>
#include <locale.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

void corelace_note(enum corelace_subject subject, const char *call) {
    static const char *const what[] = {
        [SHARED_DIRECTORY] = "the working directory",
        [SHARED_ENVIRONMENT] = "the environment",
        [SHARED_LOCALE] = "the locale",
        [SHARED_SIGNALS] = "signal handlers",
        [SHARED_PROCESS_ID] = "the process id, so files and seeds named by it collide",
        [SHARED_PROCESSOR_TIME] = "the processor time of their process: here it is that of all of them",
        [SHARED_SIGNAL_MASK] = "the signal mask of their thread",
        [SHARED_THREAD_LOCALE] = "the locale of their thread",
        [SHARED_TIMERS] = "timers and the signals they send",
        [SHARED_FILE_MASK] = "the mask of new files' permissions",
        [SHARED_CORES] = "the cores of their thread: the call is refused",
        [SHARED_PLUGINS] = "their process, in which a plug-in finds no symbols of the program: each rank has a copy of them",
    };
    const struct corelace_start *start = corelace_rank_start;
    if (start && start->warned && !corelace_forked &&
        !(__atomic_fetch_or(start->warned, 1u << subject, __ATOMIC_RELAXED) & 1u << subject)) {
        int error = errno;
        fprintf(stderr,
                "corelace: rank %d calls %s: ranks that are %s share %s (--ranks process gives each its own); further calls "
                "are not reported\n",
                start->rank, call, start->fibers ? "fibers" : "threads", what[subject]);
        errno = error;
    }
}

CORELACE_REPLACES_LIBC int chdir(const char *path) {
    corelace_note(SHARED_DIRECTORY, "chdir");
    return LIBC(chdir)(path);
}

CORELACE_REPLACES_LIBC int fchdir(int fd) {
    corelace_note(SHARED_DIRECTORY, "fchdir");
    return LIBC(fchdir)(fd);
}

CORELACE_REPLACES_LIBC int setenv(const char *name, const char *value, int overwrite) {
    corelace_note(SHARED_ENVIRONMENT, "setenv");
    return LIBC(setenv)(name, value, overwrite);
}

CORELACE_REPLACES_LIBC int unsetenv(const char *name) {
    corelace_note(SHARED_ENVIRONMENT, "unsetenv");
    return LIBC(unsetenv)(name);
}

CORELACE_REPLACES_LIBC int putenv(char *setting) {
    corelace_note(SHARED_ENVIRONMENT, "putenv");
    return LIBC(putenv)(setting);
}

CORELACE_REPLACES_LIBC char *setlocale(int category, const char *name) {
    if (name) {
        corelace_note(SHARED_LOCALE, "setlocale");
    }
    return LIBC(setlocale)(category, name);
}

/* Of gfortran's library, if the program has a copy of it: what it does at a crash, and the locale in which it reads and writes numbers. */
extern __attribute__((weak, visibility("default"))) void _gfortrani_backtrace_handler(int);
extern __attribute__((weak, visibility("default"))) locale_t _gfortrani_c_locale;

CORELACE_REPLACES_LIBC sighandler_t signal(int number, sighandler_t handler) {
    if (handler && handler == _gfortrani_backtrace_handler && corelace_is_hosted()) {
        return SIG_DFL; /* the host tells of a crash, and of whose it is */
    }
    corelace_note(SHARED_SIGNALS, "signal");
    return LIBC(signal)(number, handler);
}

CORELACE_REPLACES_LIBC int sigaction(int number, const struct sigaction *action, struct sigaction *old) {
    if (action) {
        corelace_note(SHARED_SIGNALS, "sigaction");
    }
    return LIBC(sigaction)(number, action, old);
}

CORELACE_REPLACES_LIBC unsigned alarm(unsigned seconds) {
    corelace_note(SHARED_TIMERS, "alarm");
    return LIBC(alarm)(seconds);
}

CORELACE_REPLACES_LIBC int setitimer(__itimer_which_t which, const struct itimerval *value, struct itimerval *old) {
    corelace_note(SHARED_TIMERS, "setitimer");
    return LIBC(setitimer)(which, value, old);
}

CORELACE_REPLACES_LIBC mode_t umask(mode_t mask) {
    corelace_note(SHARED_FILE_MASK, "umask");
    return LIBC(umask)(mask);
}

/* What belongs to a thread is a rank's own if the rank is one. */
static void note_of_fiber(enum corelace_subject subject, const char *call) {
    if (corelace_is_fiber()) {
        corelace_note(subject, call);
    }
}

CORELACE_REPLACES_LIBC int sigprocmask(int how, const sigset_t *set, sigset_t *old) {
    if (set) {
        note_of_fiber(SHARED_SIGNAL_MASK, "sigprocmask");
    }
    return LIBC(sigprocmask)(how, set, old);
}

CORELACE_REPLACES_LIBC int pthread_sigmask(int how, const sigset_t *set, sigset_t *old) {
    if (set && corelace_on_rank_thread()) {
        note_of_fiber(SHARED_SIGNAL_MASK, "pthread_sigmask");
    }
    return LIBC(pthread_sigmask)(how, set, old);
}

CORELACE_REPLACES_LIBC locale_t uselocale(locale_t locale) {
    static int in_statement; /* between the two calls of an input or output statement, during which no other rank comes to run */
    int is_of_gfortran = in_statement || (&_gfortrani_c_locale && locale && locale == _gfortrani_c_locale);
    if (locale && is_of_gfortran) {
        in_statement = !in_statement;
    } else if (locale && corelace_on_rank_thread()) {
        note_of_fiber(SHARED_THREAD_LOCALE, "uselocale");
    }
    return LIBC(uselocale)(locale);
}

CORELACE_REPLACES_LIBC int sched_setaffinity(pid_t thread, size_t bytes, const cpu_set_t *cores) {
    if (!thread && corelace_on_rank_thread() && corelace_is_fiber()) {
        corelace_note(SHARED_CORES, "sched_setaffinity");
        errno = EPERM;
        return -1;
    }
    return LIBC(sched_setaffinity)(thread, bytes, cores);
}

CORELACE_REPLACES_LIBC int pthread_setaffinity_np(pthread_t thread, size_t bytes, const cpu_set_t *cores) {
    if (corelace_on_rank_thread() && pthread_equal(thread, pthread_self()) && corelace_is_fiber()) {
        corelace_note(SHARED_CORES, "pthread_setaffinity_np");
        return EPERM;
    }
    return LIBC(pthread_setaffinity_np)(thread, bytes, cores);
}

CORELACE_REPLACES_LIBC void *dlopen(const char *path, int flags) {
    void *library = LIBC(dlopen)(path, flags);
    if (!library && path) {
        corelace_note(SHARED_PLUGINS, "dlopen in vain");
    }
    return library;
}
