/*
 * What the archive in a program (libcorelace_program.a) and the loader (crates/runtime/src/loader) agree on.
 *
 * The archive is in the form of a program that is loaded several times into one process, a copy a rank; the executable that carries this form
 * (crates/cli/src/link.rs) has nothing of it. A dual-use program has one form only, which starts as an ordinary process, too.
 * All statics of this archive therefore exist once per rank, without further ado: that is where "per-rank" state lives.
 *
 * Every function that replaces one of libc is weak (a program may define a function of that name itself) and hidden
 * (shared libraries keep libc's). In an ordinary process each of them behaves as libc's does.
 */
#ifndef CORELACE_PROGRAM_H
#define CORELACE_PROGRAM_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <time.h>

#define CORELACE_PROGRAM_VERSION 5

/* How a rank on a chip accounts for its heap; the same layout as `Calls` in crates/runtime/src/loader/heap.rs. */
struct corelace_heap {
    int (*book)(void *account, void *block, size_t bytes);   /* 0: there is no room for it */
    void (*unbook)(void *account, void *block);
    /* The bytes booked before, or of a block that is not booked, 1. 0: there is no room for it. */
    size_t (*resize)(void *account, void *block, size_t bytes);
    void (*move)(void *account, void *block, void *to);
    void *account;
};

/* Filled by the loader; the same layout as `Start` in crates/runtime/src/loader/program.rs. */
struct corelace_start {
    uint32_t version;   /* CORELACE_PROGRAM_VERSION of the loader */
    int32_t rank;       /* for messages */
    int32_t stdin_fd;   /* -1: no input */
    int32_t stdout_fd;  /* -1: leave the process's own stream */
    int32_t stderr_fd;  /* -1: leave the process's own stream */
    int32_t argc;
    char **argv;        /* argc pointers and a null pointer, all writable and valid while the rank runs */
    char **envp;
    uint32_t *warned;   /* one word for all ranks of the process: which warnings have been given */
    const struct corelace_heap *heap; /* null: the heap is not counted */
    uint32_t fibers;    /* 1: ranks take turns on threads; 0: each has a thread of its own */
    uint32_t records;   /* 1: stdout_fd and stderr_fd are those of all ranks, who write struct corelace_record there; 0: the rank's own */
    const uint64_t **counters; /* where the program says what it counts (see count.c); null: nobody asks */
};

/*
 * What precedes a piece of a rank's output where ranks have one pipe in common; the same layout as in crates/launch/src/stream.rs. A record
 * is written by one call and has at most PIPE_BUF bytes in all, so records are never torn.
 */
struct corelace_record {
    uint32_t rank;
    uint32_t bytes; /* that follow */
};

#define CORELACE_REPLACES_LIBC __attribute__((weak, visibility("hidden")))
#define CORELACE_INTERNAL __attribute__((visibility("hidden")))

/* True if this program was loaded by a host, false if it is the main program of its process. */
CORELACE_INTERNAL int corelace_is_hosted(void);

/* True on the thread that runs the rank's main, false on those that the program has made. */
CORELACE_INTERNAL int corelace_on_rank_thread(void);

/* True in a child that a hosted rank has made by fork: an ordinary process, of which the host's scheduler is no part. */
CORELACE_INTERNAL int corelace_in_child(void);

/* Set in such a child, if it was made by the program's own call of fork: a look at it costs no system call. */
CORELACE_INTERNAL extern int corelace_forked;

/* Runs what exit() runs before the rank ends: destructors of thread_locals, exit handlers, destructors of the program. */
CORELACE_INTERNAL void corelace_finish(int status);

/* Ends the rank, or the forked child that calls, at once. */
CORELACE_INTERNAL __attribute__((noreturn)) void corelace_leave(int status);

/* The clock of the rank's own thread (threads only). */
CORELACE_INTERNAL clockid_t corelace_rank_clock(void);

/* What ranks of a process share whatever this archive does; the first use of each is reported. */
enum corelace_subject {
    SHARED_DIRECTORY, SHARED_ENVIRONMENT, SHARED_LOCALE, SHARED_SIGNALS, SHARED_PROCESS_ID, SHARED_PROCESSOR_TIME,
    SHARED_SIGNAL_MASK, SHARED_THREAD_LOCALE, SHARED_TIMERS, SHARED_FILE_MASK, SHARED_CORES, SHARED_PLUGINS,
};
CORELACE_INTERNAL void corelace_note(enum corelace_subject subject, const char *call);

/* True if this rank is a fiber, so that what belongs to a thread is not its own. */
CORELACE_INTERNAL int corelace_is_fiber(void);

/* The descriptor that a rank means by 0, 1 or 2; any other is what it is. */
CORELACE_INTERNAL int corelace_own(int fd);

/* Whether what a rank writes to 1 or 2 goes into records, its output having no descriptor of its own. */
CORELACE_INTERNAL int corelace_is_recorded(int fd);

/* Writes a rank's output as records; like write. */
CORELACE_INTERNAL ssize_t corelace_write_records(int fd, const void *bytes, size_t count);

/* libc's definition of a function that this archive replaces. Ends the process if there is none. */
CORELACE_INTERNAL void *corelace_libc(const char *name);

/* Expands to libc's function `name`, looked up once. */
#define LIBC(name)                                                       \
    (__extension__({                                                     \
        static __typeof__(&name) corelace_found;                         \
        if (!corelace_found) {                                           \
            corelace_found = (__typeof__(&name))corelace_libc(#name);    \
        }                                                                \
        corelace_found;                                                  \
    }))

/* The host's description of this rank; null in an ordinary process and before main. */
CORELACE_INTERNAL extern const struct corelace_start *corelace_rank_start;

/* From now on the heap of this rank is counted. */
CORELACE_INTERNAL void corelace_count_heap(void);

/* Says where the work of this program is counted. */
CORELACE_INTERNAL void corelace_show_counters(const struct corelace_start *start);

/* Gives the rank its own standard streams, and writes out what is in them. */
CORELACE_INTERNAL void corelace_open_streams(const struct corelace_start *start);
CORELACE_INTERNAL void corelace_flush_streams(void);

#endif
