/*
 * The way into and out of a rank: the entry point the loader calls, exit, atexit, abort and assert.
 *
 * In a hosted rank, exit() runs the rank's own handlers on the caller's stack (they may use objects of main, which has not
 * returned) and then jumps back to the entry point, so that only this rank ends. Handlers of C++ statics are registered
 * while the program is being loaded, before the entry point runs; hence "hosted" is found out from the ELF headers and not
 * from a flag that the entry point sets.
 */
#define _GNU_SOURCE
#include "corelace_program.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));
extern int main(int argc, char **argv, char **envp);
extern int __cxa_atexit(void (*function)(void *), void *argument, void *dso);

const struct corelace_start *corelace_rank_start;

/*
 * Tells the unwinder that nobody called the function that holds this: an exception that leaves main then ends in
 * std::terminate, as in an ordinary process, and not in the host's frames.
 */
#if defined(__x86_64__)
#define OUTERMOST_FRAME __asm__ volatile(".cfi_undefined rip")
#elif defined(__aarch64__)
#define OUTERMOST_FRAME __asm__ volatile(".cfi_undefined x30")
#elif defined(__riscv)
#define OUTERMOST_FRAME __asm__ volatile(".cfi_undefined ra")
#else
#define OUTERMOST_FRAME (void)0
#endif

enum kind { PLAIN, WITH_ARGUMENT, WITH_STATUS };

struct handler {
    enum kind kind;
    void (*function)(void);
    void *argument;
};

struct handlers {
    struct handler *list;
    size_t count, room;
    pthread_mutex_t lock; /* a program may register handlers from threads of its own */
};

static struct handlers at_exit = {.lock = PTHREAD_MUTEX_INITIALIZER};
static struct handlers at_quick = {.lock = PTHREAD_MUTEX_INITIALIZER};
static jmp_buf way_out;
static int way_out_open;
static int exit_status;
static pthread_t rank_thread;

int corelace_is_hosted(void) {
    static int known; /* 0 not yet, 1 no, 2 yes; threads that race find the same */
    if (!known) {
        /* The kernel tells the dynamic linker where the headers of the main program are: ours, or those of a host. */
        const char *ours = (const char *)&__ehdr_start + __ehdr_start.e_phoff;
        known = ours == (const char *)getauxval(AT_PHDR) ? 1 : 2;
    }
    return known == 2;
}

int corelace_on_rank_thread(void) { return pthread_equal(rank_thread, pthread_self()); }

void *corelace_libc(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (!found) {
        static const char text[] = "corelace: libc has no function that this program needs: ";
        (void)!write(STDERR_FILENO, text, sizeof text - 1);
        (void)!write(STDERR_FILENO, name, strlen(name));
        (void)!write(STDERR_FILENO, "\n", 1);
        _exit(127);
    }
    return found;
}

static int add(struct handlers *handlers, enum kind kind, void (*function)(void), void *argument) {
    int failed = 0;
    pthread_mutex_lock(&handlers->lock);
    if (handlers->count == handlers->room) {
        size_t room = handlers->room ? 2 * handlers->room : 32;
        struct handler *list = realloc(handlers->list, room * sizeof *list);
        if (list) {
            handlers->list = list;
            handlers->room = room;
        } else {
            failed = -1;
        }
    }
    if (!failed) {
        handlers->list[handlers->count++] = (struct handler){kind, function, argument};
    }
    pthread_mutex_unlock(&handlers->lock);
    return failed;
}

/* Last registered first; a handler may register more, which then run next, and may itself call exit. */
static void run(struct handlers *handlers, int status) {
    for (;;) {
        pthread_mutex_lock(&handlers->lock);
        if (!handlers->count) {
            pthread_mutex_unlock(&handlers->lock);
            return;
        }
        struct handler last = handlers->list[--handlers->count];
        pthread_mutex_unlock(&handlers->lock);
        switch (last.kind) {
        case PLAIN: last.function(); break;
        case WITH_ARGUMENT: ((void (*)(void *))last.function)(last.argument); break;
        case WITH_STATUS: ((void (*)(int, void *))last.function)(status, last.argument); break;
        }
    }
}

__attribute__((noreturn)) static void leave(int status) {
    if (!way_out_open || !corelace_on_rank_thread()) {
        /* During loading, or in a thread that the program made: there is no way back to the rank's own stack. */
        fprintf(stderr, "corelace: rank %d ended its program from a thread of its own (status %d): all ranks of this process end\n",
                corelace_rank_start ? corelace_rank_start->rank : -1, status);
        corelace_flush_streams();
        LIBC(_exit)(status ? status : 1);
    }
    exit_status = status;
    longjmp(way_out, 1);
}

__attribute__((visibility("default"))) int corelace_program_main(const struct corelace_start *start) {
    OUTERMOST_FRAME;
    if (start->version != CORELACE_PROGRAM_VERSION) {
        return -1;
    }
    corelace_rank_start = start;
    rank_thread = pthread_self();
    corelace_open_streams(start);
    way_out_open = 1;
    if (!setjmp(way_out)) {
        int status = main(start->argc, start->argv, start->envp);
        /* A handler may still call exit, so the way out stays open; the status is then the later one. */
        exit_status = status;
        run(&at_exit, status);
    }
    way_out_open = 0;
    corelace_flush_streams();
    return exit_status & 0xff;
}

CORELACE_REPLACES_LIBC void exit(int status) {
    if (!corelace_is_hosted()) {
        LIBC(exit)(status);
    }
    run(&at_exit, status);
    leave(status);
}

CORELACE_REPLACES_LIBC void quick_exit(int status) {
    if (!corelace_is_hosted()) {
        LIBC(quick_exit)(status);
    }
    run(&at_quick, status);
    leave(status);
}

CORELACE_REPLACES_LIBC void _exit(int status) {
    if (!corelace_is_hosted()) {
        LIBC(_exit)(status);
    }
    leave(status);
}

CORELACE_REPLACES_LIBC void _Exit(int status) {
    if (!corelace_is_hosted()) {
        LIBC(_Exit)(status);
    }
    leave(status);
}

/* atexit is no function of libc.so but of the object linked into each program: it is replaced in both modes. */
CORELACE_REPLACES_LIBC int atexit(void (*function)(void)) {
    extern void *__dso_handle;
    return corelace_is_hosted() ? add(&at_exit, PLAIN, function, 0)
                                : LIBC(__cxa_atexit)((void (*)(void *))function, 0, &__dso_handle);
}

CORELACE_REPLACES_LIBC int __cxa_atexit(void (*function)(void *), void *argument, void *dso) {
    return corelace_is_hosted() ? add(&at_exit, WITH_ARGUMENT, (void (*)(void))function, argument)
                                : LIBC(__cxa_atexit)(function, argument, dso);
}

CORELACE_REPLACES_LIBC int on_exit(void (*function)(int, void *), void *argument) {
    return corelace_is_hosted() ? add(&at_exit, WITH_STATUS, (void (*)(void))function, argument)
                                : LIBC(on_exit)(function, argument);
}

extern int __cxa_at_quick_exit(void (*function)(void *), void *dso);

CORELACE_REPLACES_LIBC int at_quick_exit(void (*function)(void)) {
    extern void *__dso_handle;
    return corelace_is_hosted() ? add(&at_quick, PLAIN, function, 0)
                                : LIBC(__cxa_at_quick_exit)((void (*)(void *))function, &__dso_handle);
}

/* abort means the job, in every mode; say who did it, for the signal alone no longer tells. */
CORELACE_REPLACES_LIBC void abort(void) {
    if (corelace_is_hosted()) {
        corelace_flush_streams();
        fprintf(stderr, "corelace: rank %d called abort\n", corelace_rank_start ? corelace_rank_start->rank : -1);
    }
    LIBC(abort)();
    __builtin_unreachable();
}

CORELACE_REPLACES_LIBC void __assert_fail(const char *assertion, const char *file, unsigned line, const char *function) {
    fflush(stdout);
    fprintf(stderr, "%s:%u: %s: Assertion `%s' failed.\n", file, line, function ? function : "?", assertion);
    abort();
}
