/*
 * The way into and out of a rank: the entry point the loader calls, exit, atexit, abort and assert.
 *
 * In a hosted rank, exit() runs the rank's own handlers on the caller's stack (they may use objects of main, which has not
 * returned) and then jumps back to the entry point, so that only this rank ends. Handlers of C++ statics are registered
 * while the program is being loaded, before the entry point runs; hence "hosted" is found out from the ELF headers and not
 * from a flag that the entry point sets.
 *
 * A child that a rank has made by fork is an ordinary process with the memory of all ranks. It runs its rank's handlers and ends
 * as processes do; it never comes back to the entry point, behind which the host would go on to run the other ranks.
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
#include <sys/mman.h>
#include <unistd.h>

extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));
extern int main(int argc, char **argv, char **envp);
extern int __cxa_atexit(void (*function)(void *), void *argument, void *dso);
extern int __cxa_thread_atexit(void (*function)(void *), void *argument, void *dso);
extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));

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
static struct handlers at_thread_end = {.lock = PTHREAD_MUTEX_INITIALIZER}; /* of the rank's own thread */
static struct handlers at_quick = {.lock = PTHREAD_MUTEX_INITIALIZER};
static jmp_buf way_out;
static int way_out_open;
static int exit_status;
static pthread_t rank_thread;
static pid_t host;

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

int corelace_in_child(void) { return host && LIBC(getpid)() != host; }

int corelace_is_fiber(void) { return corelace_rank_start && corelace_rank_start->fibers && !corelace_in_child(); }

clockid_t corelace_rank_clock(void) {
    clockid_t clock;
    return pthread_getcpuclockid(rank_thread, &clock) ? CLOCK_THREAD_CPUTIME_ID : clock;
}

void *corelace_libc(const char *name) {
    /* "Next" asks who calls, which the dynamic linker cannot tell of a copy that it has not made itself. Hosts export nothing. */
    void *found = dlsym(corelace_is_hosted() ? RTLD_DEFAULT : RTLD_NEXT, name);
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

/*
 * The functions of __attribute__((destructor)), taken away from the dynamic linker: it would call them at the end of the host,
 * long after their rank. Null if it does not let go of them.
 */
static void (**take_destructors(size_t *count))(void) {
    void (**list)(void) = NULL;
    ElfW(Dyn) *bytes = NULL;
    for (ElfW(Dyn) *entry = _DYNAMIC; entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_FINI_ARRAY) {
            list = (void (**)(void))((char *)&__ehdr_start + entry->d_un.d_ptr);
        } else if (entry->d_tag == DT_FINI_ARRAYSZ) {
            bytes = entry;
        }
    }
    *count = bytes ? bytes->d_un.d_val / sizeof *list : 0;
    if (!list || !*count) {
        return NULL;
    }
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *start = (char *)((uintptr_t)bytes / page * page);
    if (mprotect(start, (size_t)((char *)(bytes + 1) - start), PROT_READ | PROT_WRITE)) {
        *count = 0;
        return NULL;
    }
    bytes->d_un.d_val = 0;
    return list;
}

void corelace_finish(int status) {
    if (corelace_on_rank_thread()) {
        run(&at_thread_end, status);
    }
    run(&at_exit, status);
    size_t count;
    void (**destructors)(void) = take_destructors(&count);
    while (count) {
        destructors[--count]();
    }
}

void corelace_leave(int status) {
    if (corelace_in_child()) {
        LIBC(_exit)(status);
    }
    size_t count;
    take_destructors(&count);
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
    host = LIBC(getpid)();
    rank_thread = pthread_self();
    if (start->heap) {
        corelace_count_heap();
    }
    corelace_open_streams(start);
    corelace_show_counters(start);
    way_out_open = 1;
    if (!setjmp(way_out)) {
        int status = main(start->argc, start->argv, start->envp);
        /* A handler may still call exit, so the way out stays open; the status is then the later one. */
        exit_status = status;
        corelace_finish(status);
        if (corelace_in_child()) {
            corelace_flush_streams();
            corelace_leave(status);
        }
    }
    way_out_open = 0;
    corelace_flush_streams();
    return exit_status & 0xff;
}

CORELACE_REPLACES_LIBC void exit(int status) {
    if (!corelace_is_hosted()) {
        LIBC(exit)(status);
    }
    corelace_finish(status);
    if (corelace_in_child()) {
        corelace_flush_streams();
    }
    corelace_leave(status);
}

CORELACE_REPLACES_LIBC void quick_exit(int status) {
    if (!corelace_is_hosted()) {
        LIBC(quick_exit)(status);
    }
    run(&at_quick, status);
    corelace_leave(status);
}

CORELACE_REPLACES_LIBC void _exit(int status) {
    if (!corelace_is_hosted()) {
        LIBC(_exit)(status);
    }
    corelace_leave(status);
}

CORELACE_REPLACES_LIBC void _Exit(int status) {
    if (!corelace_is_hosted()) {
        LIBC(_Exit)(status);
    }
    corelace_leave(status);
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

/* Destructors of thread_locals of main's thread run before those of statics, and in time for their rank. */
CORELACE_REPLACES_LIBC int __cxa_thread_atexit(void (*function)(void *), void *argument, void *dso) {
    return corelace_is_hosted() && corelace_on_rank_thread()
               ? add(&at_thread_end, WITH_ARGUMENT, (void (*)(void))function, argument)
               : LIBC(__cxa_thread_atexit)(function, argument, dso);
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
