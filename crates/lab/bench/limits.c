/* What the machine allows, without any MPI: on the first two cores, by nothing but loads, stores, memcpy and calls of the system.
 *   figure limit-cache-line 64 VALUE us          one cache line one way, half of a round trip of two threads
 *   figure limit-copy SIZE VALUE us              memcpy
 *   figure limit-two-copies SIZE VALUE us        half of a round trip of two processes by shared memory: the sender copies in and raises a flag, the receiver copies out. The best of all
 *                                                combinations of: as a whole or in pieces, in one place of the sender's or eight in turn, or where the letter lay that is answered, with hints to the caches or without
 *   figure limit-cross-memory/one SIZE VALUE us  half of a round trip of two processes by one copy: the sender raises a flag, the receiver reads its memory (process_vm_readv)
 *   figure limit-cross-memory/both SIZE VALUE us the same, but the receiver reads one half only, and the sender writes the other meanwhile (process_vm_writev)
 *   figure limit-cross-memory/exchange SIZE VALUE us  both write their data, read each other's (process_vm_readv) and what they have got, at the same time
 * usage: limits QUICK                                                                                 */
#include "cores.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TRIPS = 200000, LETTERS = 400, ATTEMPTS = 5, LARGEST = 2 << 20, COPIED = 1 << 28, PLACES = 8, PLACE = 32 << 10, LINE = 64 };

static _Alignas(128) atomic_int there;
static _Alignas(128) atomic_int back;
static int share, trips;
static char *from, *into;

static void *answer(void *unused)
{
    stay_on(1);
    for (int trip = 1; trip <= trips; trip++) {
        while (atomic_load_explicit(&there, memory_order_acquire) != trip) {}
        atomic_store_explicit(&back, trip, memory_order_release);
    }
    return unused;
}

static double one_way(void)
{
    pthread_t other;
    atomic_store(&there, 0);
    atomic_store(&back, 0);
    pthread_create(&other, 0, answer, 0);
    double begin = now();
    for (int trip = 1; trip <= trips; trip++) {
        atomic_store_explicit(&there, trip, memory_order_release);
        while (atomic_load_explicit(&back, memory_order_acquire) != trip) {}
    }
    double seconds = now() - begin;
    pthread_join(other, 0);
    return seconds / trips / 2;
}

static double copy(size_t size, int times)
{
    double begin = now();
    for (int i = 0; i < times; i++) {
        memcpy(into, from, size);
        __asm__ volatile("" : : "r"(into) : "memory");
    }
    return (now() - begin) / times;
}

/* What one of two processes lets the other see. Counts only grow; each is alone in its lines. */
struct end {
    _Alignas(128) atomic_long raised;  /* pieces, or letters, that are there */
    _Alignas(128) atomic_long written; /* halves that this one has written into the other's memory */
    _Alignas(128) atomic_int failure;  /* why a call of the system was refused */
    pid_t process;
    _Alignas(4096) char places[PLACES][PLACE];
};

static struct end *ends;
static int me;
/* What this process has seen of the other's counts. */
static long seen_raised, seen_written;

static void raise_flag(atomic_long *flag)
{
    atomic_store_explicit(flag, atomic_load_explicit(flag, memory_order_relaxed) + 1, memory_order_release);
}

static void await_flag(atomic_long *flag, long count)
{
    while (atomic_load_explicit(flag, memory_order_acquire) < count) {}
}

/* How a letter goes through shared memory. */
struct form {
    size_t piece;
    int places; /* of the sender's; 0: one for both, where each writes what the other reads, and the other way round */
    int asks_for_lines, hands_lines_over;
};

static char *place_of(int sender, int letter, const struct form *form)
{
    return form->places ? ends[sender].places[letter % form->places] : ends[0].places[0];
}

static void hint(char *lines, size_t size, int ask)
{
#ifdef __x86_64__
    for (char *line = lines; line < lines + size; line += LINE)
        if (ask)
            __asm__ volatile("prefetchw %0" : : "m"(*line));
        else
            __asm__ volatile("cldemote %0" : : "m"(*line));
#else
    (void)lines, (void)size, (void)ask;
#endif
}

static void send_by_copies(size_t size, int letter, const struct form *form)
{
    struct end *mine = &ends[me];
    char *place = place_of(me, letter, form), *next = place_of(me, letter + 1, form);
    for (size_t at = 0; at < size; at += form->piece) {
        memcpy(place + at, from + at, form->piece);
        raise_flag(&mine->raised);
        if (form->hands_lines_over) hint(place + at, form->piece, 0);
    }
    if (form->asks_for_lines && next != place) hint(next, size, 1);
}

static void receive_by_copies(size_t size, int letter, const struct form *form)
{
    struct end *theirs = &ends[1 - me];
    for (size_t at = 0; at < size; at += form->piece) {
        await_flag(&theirs->raised, ++seen_raised);
        memcpy(into + at, place_of(1 - me, letter, form) + at, form->piece);
    }
}

/* Seconds of half a round trip; both processes call it. */
static double by_two_copies(size_t size, int letters, const struct form *form)
{
    double begin = now();
    for (int letter = 0; letter < letters; letter++) {
        if (me == 0) send_by_copies(size, letter, form);
        receive_by_copies(size, letter, form);
        if (me == 1) send_by_copies(size, letter, form);
    }
    return (now() - begin) / letters / 2;
}

static void note(ssize_t moved, size_t size)
{
    if (moved != (ssize_t)size) atomic_store(&ends[me].failure, moved < 0 ? errno : EIO);
}

static void read_theirs(size_t at, size_t size)
{
    struct iovec local = {into + at, size}, remote = {from + at, size};
    note(process_vm_readv(ends[1 - me].process, &local, 1, &remote, 1, 0), size);
}

static void write_theirs(size_t at, size_t size)
{
    struct iovec local = {from + at, size}, remote = {into + at, size};
    note(process_vm_writev(ends[1 - me].process, &local, 1, &remote, 1, 0), size);
}

/* Seconds of half a round trip; both processes call it. `both` of them copy, or the receiver alone. */
static double across(size_t size, int letters, int both)
{
    size_t written = both ? size / 2 : 0;
    struct end *mine = &ends[me], *theirs = &ends[1 - me];
    double begin = now();
    for (int half = 0; half < 2 * letters; half++) {
        if (half % 2 == me) {
            raise_flag(&mine->raised);
            if (!both) continue;
            write_theirs(size - written, written);
            raise_flag(&mine->written);
        } else {
            await_flag(&theirs->raised, ++seen_raised);
            read_theirs(0, size - written);
            if (both) await_flag(&theirs->written, ++seen_written);
        }
    }
    return (now() - begin) / letters / 2;
}

/* Seconds of an exchange; both processes call it. */
static double exchange_across(size_t size, int times)
{
    struct end *mine = &ends[me], *theirs = &ends[1 - me];
    double begin = now();
    for (int i = 0; i < times; i++) {
        for (size_t at = 0; at < size; at += LINE) from[at]++;
        raise_flag(&mine->raised);
        await_flag(&theirs->raised, ++seen_raised);
        read_theirs(0, size);
        raise_flag(&mine->written);
        for (size_t at = 0; at < size; at += LINE) (void)*(volatile char *)&into[at];
        /* Until the other one has read all, its data stay as they are. */
        await_flag(&theirs->written, ++seen_written);
    }
    return (now() - begin) / times;
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

static void print(const char *name, size_t size, double seconds)
{
    if (me != 0) return;
    printf("figure %s %zu %.4f us\n", name, size, seconds * 1e6);
    fflush(stdout);
}

/* What both processes do. */
static void be_one_of_two(void)
{
    static const size_t pieces[] = {PLACE, 4096, 1024};
    static const struct form forms[] = {{0, 0, 0, 0}, {0, 0, 0, 1}, {0, 1, 0, 0}, {0, 1, 0, 1}, {0, PLACES, 0, 0}, {0, PLACES, 1, 0}, {0, PLACES, 0, 1}, {0, PLACES, 1, 1}};
    int letters = LETTERS / share;
    stay_on(me);
    for (size_t size = 8 << 10; size <= PLACE; size *= 2) {
        double best = 1e9;
        for (unsigned i = 0; i < sizeof pieces / sizeof *pieces; i++)
            for (unsigned k = 0; k < sizeof forms / sizeof *forms; k++) {
                struct form form = forms[k];
                form.piece = pieces[i] < size ? pieces[i] : size;
                for (int attempt = 0; attempt < ATTEMPTS; attempt++) best = least(best, by_two_copies(size, letters, &form));
            }
        print("limit-two-copies", size, best);
    }
    for (size_t size = 16 << 10; size <= 512 << 10; size *= 2)
        for (int both = 0; both < 2; both++) {
            double best = 1e9;
            for (int attempt = 0; attempt < ATTEMPTS; attempt++) best = least(best, across(size, letters, both));
            if (atomic_load(&ends[0].failure) || atomic_load(&ends[1].failure)) return;
            print(both ? "limit-cross-memory/both" : "limit-cross-memory/one", size, best);
        }
    double best = 1e9;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) best = least(best, exchange_across(LARGEST, letters / 10 + 1));
    print("limit-cross-memory/exchange", LARGEST, best);
}

/* The limits of two processes; the status of this one. */
static int two_processes(void)
{
    ends = mmap(0, 2 * sizeof *ends, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (ends == MAP_FAILED) return perror("mmap"), 1;
    memset(ends, 0, 2 * sizeof *ends);
    /* Some systems let only parents read their children's memory, unless these allow it. */
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    ends[0].process = getpid();
    pid_t child = fork();
    if (child < 0) return perror("fork"), 1;
    if (child == 0) {
        me = 1;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    } else {
        ends[1].process = child;
    }
    /* The addresses are the same in both: the child is a copy. What is shared with the parent until it is written is written now. */
    memset(from, 1 + me, LARGEST);
    memset(into, 3 + me, LARGEST);
    raise_flag(&ends[me].written);
    await_flag(&ends[1 - me].written, ++seen_written);
    be_one_of_two();
    /* The other one may still be reading this one's memory. */
    raise_flag(&ends[me].written);
    await_flag(&ends[1 - me].written, ++seen_written);
    if (me == 1) _exit(0);
    waitpid(child, 0, 0);
    int refused = atomic_load(&ends[0].failure) ? atomic_load(&ends[0].failure) : atomic_load(&ends[1].failure);
    if (refused) fprintf(stderr, "no limit-cross-memory: process_vm_readv or process_vm_writev: %s\n", strerror(refused));
    return refused != 0;
}

int main(int argc, char **argv)
{
    share = argc > 1 && atoi(argv[1]) ? 10 : 1;
    double best = 1e9;
    trips = TRIPS / share;
    stay_on(0);
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) best = least(best, one_way());
    print("limit-cache-line", LINE, best);
    from = malloc(LARGEST);
    into = malloc(LARGEST);
    memset(from, 1, LARGEST);
    memset(into, 2, LARGEST);
    for (size_t size = 4096; size <= LARGEST; size *= 8) {
        best = 1e9;
        for (int attempt = 0; attempt < ATTEMPTS; attempt++) best = least(best, copy(size, (int)(COPIED / size / share / ATTEMPTS + 1)));
        print("limit-copy", size, best);
    }
    int status = two_processes();
    free(from);
    free(into);
    return status;
}
