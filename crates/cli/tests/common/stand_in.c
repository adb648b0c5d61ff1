/*
 * A stand-in for libmpi_abi: joins and leaves the job by the bootstrap protocol (crates/pmi), and hosts ranks as threads by
 * loading a copy of the program for each. No communication.
 */
#define _GNU_SOURCE
#include "mpi.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static _Thread_local int hosted_rank = -1;
static int hosted_size, control = -1;

static int number(const char *name) { return atoi(getenv(name)); }
static int my_rank(void) { return hosted_rank >= 0 ? hosted_rank : number("CORELACE_RANK"); }

static void say(uint8_t kind, const uint32_t *body, uint32_t words) {
    char frame[64] = {0};
    uint32_t bytes = 4 * words;
    memcpy(frame, &bytes, 4);
    frame[4] = (char)kind;
    memcpy(frame + 8, body, bytes);
    int fd = control >= 0 ? control : number("CORELACE_CONTROL_FD");
    if (write(fd, frame, 8 + bytes) < 0) {
        perror("control");
    }
}

int MPI_Init(int *argc, char ***argv) {
    (void)argc, (void)argv;
    uint32_t body[] = {3, (uint32_t)my_rank(), (uint32_t)getpid()};
    say(1, body, 3);
    return 0;
}

int MPI_Finalize(void) {
    uint32_t body[] = {(uint32_t)my_rank()};
    say(2, body, 1);
    return 0;
}

int MPI_Abort(MPI_Comm comm, int code) {
    (void)comm;
    uint32_t body[] = {(uint32_t)my_rank(), (uint32_t)code};
    say(4, body, 2);
    for (;;) {
        pause();
    }
}

int MPI_Comm_rank(MPI_Comm comm, int *rank) {
    (void)comm;
    *rank = my_rank();
    return 0;
}

int MPI_Comm_size(MPI_Comm comm, int *size) {
    (void)comm;
    *size = hosted_rank >= 0 ? hosted_size : number("CORELACE_SIZE");
    return 0;
}

struct start {
    uint32_t version;
    int32_t rank, in, out, err, argc;
    char **argv, **envp;
    uint32_t *warned;
    const void *heap;
    uint32_t fibers, records;
    const uint64_t **counters;
};

struct job {
    struct start start;
    int (*entry)(const struct start *);
};

static void *rank_thread(void *argument) {
    struct job *job = argument;
    hosted_rank = job->start.rank;
    uint32_t status = (uint32_t)job->entry(&job->start);
    uint32_t body[] = {(uint32_t)hosted_rank, status};
    say(3, body, 2);
    return NULL;
}

/* What a program has for copies: a section of it, or else the whole file. */
static const char *for_copies(const char *file, size_t *bytes) {
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)file;
    const Elf64_Shdr *sections = (const Elf64_Shdr *)(file + header->e_shoff);
    for (int i = 0; i < header->e_shnum; i++) {
        const char *name = file + sections[header->e_shstrndx].sh_offset + sections[i].sh_name;
        if (strcmp(name, ".corelace.copies") == 0) {
            *bytes = sections[i].sh_size;
            return file + sections[i].sh_offset;
        }
    }
    return file;
}

static void *load(const char *path) {
    int file = open(path, O_RDONLY | O_CLOEXEC), copy = memfd_create("copy", MFD_CLOEXEC);
    struct stat stat;
    char name[64];
    if (file < 0 || fstat(file, &stat) < 0) {
        return NULL;
    }
    size_t bytes = (size_t)stat.st_size;
    const char *all = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, file, 0);
    const char *form = all == MAP_FAILED ? NULL : for_copies(all, &bytes);
    if (!form || write(copy, form, bytes) != (ssize_t)bytes) {
        return NULL;
    }
    snprintf(name, sizeof name, "/proc/self/fd/%d", copy);
    return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

/* Understands plans of one program without escaped characters. */
int corelace_host_run(const char *plan) {
    static char program[4096], line[8192], *argv[64];
    static struct job jobs[256];
    static pthread_t threads[256];
    extern char **environ;
    int argc = 0, rank = 0;
    FILE *text = fmemopen((void *)plan, strlen(plan), "r");
    while (fgets(line, sizeof line, text)) {
        struct start *start = &jobs[rank].start;
        char mode[16];
        if (sscanf(line, "control %d", &control) == 1) {
            continue;
        }
        if (sscanf(line, "mode %15s", mode) == 1) {
            /* Threads in any case; the program can see what the launcher has asked for. */
            setenv("STAND_IN_MODE", mode, 1);
            continue;
        }
        if (strncmp(line, "program ", 8) == 0) {
            char *words = strdup(strchr(line + 8, ' ') + 1);
            snprintf(program, sizeof program, "%s", strtok(words, " \n"));
            while ((argv[argc] = strtok(NULL, " \n"))) {
                argc++;
            }
        } else if (sscanf(line, "rank %d %d %d", &start->in, &start->out, &start->err) == 3) {
            start->version = 5, start->rank = rank, start->argc = argc, start->argv = argv, start->envp = environ;
            rank++;
        }
    }
    hosted_size = rank;
    for (int i = 0; i < rank; i++) {
        void *copy = load(program);
        if (!copy || !(jobs[i].entry = (int (*)(const struct start *))dlsym(copy, "corelace_program_main"))) {
            fprintf(stderr, "host: cannot load %s: %s\n", program, dlerror());
            return 9;
        }
    }
    for (int i = 0; i < rank; i++) {
        pthread_create(&threads[i], NULL, rank_thread, &jobs[i]);
    }
    for (int i = 0; i < rank; i++) {
        pthread_join(threads[i], NULL);
    }
    return 0;
}
