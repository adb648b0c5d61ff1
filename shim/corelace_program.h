/*
 * What the archive in a program (libcorelace_program.a) and the loader (crates/runtime/src/loader) agree on.
 *
 * A program built by mpicc can start as an ordinary process, or be loaded several times into one process, a copy a rank.
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

#define CORELACE_PROGRAM_VERSION 2

/* How a rank on a chip accounts for its heap; the same layout as `Calls` in crates/runtime/src/loader/heap.rs. */
struct corelace_heap {
    int (*book)(void *account, void *block, size_t bytes);   /* 0: there is no room for it */
    void (*unbook)(void *account, void *block);
    int (*resize)(void *account, void *block, size_t bytes); /* 0: there is no room for it */
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
};

#define CORELACE_REPLACES_LIBC __attribute__((weak, visibility("hidden")))
#define CORELACE_INTERNAL __attribute__((visibility("hidden")))

/* True if this program was loaded by a host, false if it is the main program of its process. */
CORELACE_INTERNAL int corelace_is_hosted(void);

/* True on the thread that runs the rank's main, false on those that the program has made. */
CORELACE_INTERNAL int corelace_on_rank_thread(void);

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

/* Gives the rank its own standard streams, and writes out what is in them. */
CORELACE_INTERNAL void corelace_open_streams(const struct corelace_start *start);
CORELACE_INTERNAL void corelace_flush_streams(void);

#endif
