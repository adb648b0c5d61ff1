/* What the machine allows of data that was just written and is read where they come, without any MPI: two processes on the first two cores and memory that both share, through which every byte
 * is copied twice. The best of all combinations of how the writer copies, how the reader does, and in which pieces.
 *   figure limit-written SIZE VALUE us      half of a round trip: one writes its data and copies them in, piece by piece; the other copies each out when a flag says that it is there
 *   figure limit-exchange SIZE VALUE us     both at the same time, each copies in all and then out, and reads what it has got
 *   figure limit-broadcast/8 SIZE VALUE us  eight members, four a process: one writes its data and copies them in, seven copy them out and read them. Data pass through eight places in turn
 *   figure limit-broadcast-untouched/8 SIZE VALUE us  the same of data that nobody writes or reads but to copy them
 * Each writes where it has read last (but in broadcasts), so that lines are in its cache already.
 * usage: bare QUICK                                                                                 */
#include "cores.h"
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ATTEMPTS = 3, LARGEST = 512 << 10, LINE = 64, AHEAD = 1024, MEMBERS = 8, PLACES = 8 };

typedef void copy(char *into, const char *from, size_t size);

static void by_library(char *into, const char *from, size_t size)
{
    memcpy(into, from, size);
}

#ifdef __x86_64__
#include <immintrin.h>

static void by_string(char *into, const char *from, size_t size)
{
    __asm__ volatile("rep movsb" : "+D"(into), "+S"(from), "+c"(size) : : "memory");
}

/* From a line of the destination on; lines of both sides are asked for ahead. */
__attribute__((target("avx2"))) static void by_lines(char *into, const char *from, size_t size)
{
    size_t at = LINE - ((size_t)into & (LINE - 1));
    memcpy(into, from, LINE);
    for (; at + LINE <= size; at += LINE) {
        if (at + AHEAD + LINE <= size) {
            _mm_prefetch(from + at + AHEAD, _MM_HINT_T0);
            __asm__ volatile("prefetchw %0" : : "m"(into[at + AHEAD]));
        }
        __m256i first = _mm256_loadu_si256((const __m256i *)(from + at)), second = _mm256_loadu_si256((const __m256i *)(from + at + 32));
        _mm256_storeu_si256((__m256i *)(into + at), first);
        _mm256_storeu_si256((__m256i *)(into + at + 32), second);
    }
    memcpy(into + size - LINE, from + size - LINE, LINE);
}

static copy *const copies[] = {by_library, by_string, by_lines};

static int ways(void)
{
    return __builtin_cpu_supports("avx2") ? 3 : 2;
}
#else
static copy *const copies[] = {by_library};

static int ways(void)
{
    return 1;
}
#endif

/* What one of two processes lets the other see. Counts only grow; each is alone in its lines. */
struct end {
    _Alignas(128) atomic_long laid;  /* pieces that it has copied in */
    _Alignas(128) atomic_long taken; /* data that its members have copied out of */
    _Alignas(4096) char place[LARGEST];
};

static struct end *ends;
static char (*places)[LARGEST];
static int me;
static char *from, *into[MEMBERS / 2];
static long laid, seen, passed;

static void raise_flag(atomic_long *flag, long count)
{
    atomic_store_explicit(flag, count, memory_order_release);
}

static void await_flag(atomic_long *flag, long count)
{
    while (atomic_load_explicit(flag, memory_order_acquire) < count) {}
}

static void write_lines(size_t size)
{
    for (size_t at = 0; at < size; at += LINE) from[at]++;
}

static void read_lines(const char *data, size_t size)
{
    for (size_t at = 0; at < size; at += LINE) (void)*(const volatile char *)&data[at];
}

/* How data are copied. */
struct form {
    copy *in, *out;
    size_t piece;
};

static size_t least(size_t one, size_t other)
{
    return one < other ? one : other;
}

static void lay(char *place, size_t size, const struct form *form)
{
    for (size_t at = 0; at < size; at += form->piece) {
        form->in(place + at, from + at, least(form->piece, size - at));
        raise_flag(&ends[me].laid, ++laid);
    }
}

static void take(const char *place, size_t size, const struct form *form)
{
    for (size_t at = 0; at < size; at += form->piece) {
        await_flag(&ends[1 - me].laid, ++seen);
        form->out(into[0] + at, place + at, least(form->piece, size - at));
    }
}

/* The seconds of half a round trip; both processes call each of these. */
static double written(size_t size, int times, const struct form *form)
{
    double begin = now();
    for (int half = 0; half < 2 * times; half++) {
        if (half % 2 == me) {
            write_lines(size);
            lay(ends[0].place, size, form);
        } else {
            take(ends[0].place, size, form);
        }
    }
    return (now() - begin) / times / 2;
}

static double exchange(size_t size, int times, const struct form *form)
{
    double begin = now();
    for (int i = 0; i < times; i++, passed++) {
        write_lines(size);
        lay(ends[(me + passed) % 2].place, size, form);
        take(ends[(1 - me + passed) % 2].place, size, form);
        read_lines(into[0], size);
    }
    return (now() - begin) / times;
}

static int is_touched;

static double broadcast(size_t size, int times, const struct form *form)
{
    double begin = now();
    for (int i = 0; i < times; i++, passed++) {
        char *place = places[passed % PLACES];
        if (me == 0) {
            if (is_touched) write_lines(size);
            await_flag(&ends[1].taken, passed + 1 - PLACES);
            form->in(place, from, size);
            raise_flag(&ends[0].laid, ++laid);
        } else {
            await_flag(&ends[0].laid, ++seen);
        }
        for (int member = 1 - me; member < MEMBERS / 2; member++) {
            form->out(into[member], place, size);
            if (is_touched) read_lines(into[member], size);
        }
        raise_flag(&ends[me].taken, passed + 1);
    }
    /* Until the last one is done. */
    await_flag(&ends[1 - me].taken, passed);
    return (now() - begin) / times;
}

static int share;

/* The figure of one size. */
static void measure(const char *name, double (*of)(size_t, int, const struct form *), size_t size, int is_whole)
{
    static const size_t pieces[] = {64 << 10, 32 << 10, 24 << 10, 16 << 10, 4 << 10};
    int times = (int)((16 << 20) / (size + (32 << 10)) / share) + 2;
    double best = 1e9;
    for (unsigned p = 0; p < (is_whole ? 1 : sizeof pieces / sizeof *pieces); p++) {
        size_t piece = is_whole || pieces[p] > size ? size : pieces[p];
        if (p > 0 && piece == size && pieces[p - 1] >= size) continue;
        for (int form = 0; form < ways() * ways(); form++) {
            struct form how = {copies[form / ways()], copies[form % ways()], piece};
            for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
                double each = of(size, times, &how);
                if (each < best) best = each;
            }
        }
    }
    if (me != 0) return;
    printf("figure %s %zu %.4f us\n", name, size, best * 1e6);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    share = argc > 1 && atoi(argv[1]) ? 10 : 1;
    size_t bytes = 2 * sizeof *ends + PLACES * sizeof *places;
    ends = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (ends == MAP_FAILED) return perror("mmap"), 1;
    memset(ends, 0, bytes);
    places = (void *)(ends + 2);
    from = malloc(LARGEST);
    for (int member = 0; member < MEMBERS / 2; member++) into[member] = malloc(LARGEST);
    pid_t child = fork();
    if (child < 0) return perror("fork"), 1;
    if (child == 0) {
        me = 1;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    }
    stay_on(me);
    /* What is shared with the parent until it is written is written now. */
    memset(from, 1 + me, LARGEST);
    for (int member = 0; member < MEMBERS / 2; member++) memset(into[member], 3, LARGEST);
    for (size_t size = 4 << 10; size <= 256 << 10; size *= 2) {
        if (size == 128 << 10) continue;
        measure("limit-written", written, size, 0);
        measure("limit-exchange", exchange, size, 0);
    }
    passed = 0;
    for (is_touched = 0; is_touched < 2; is_touched++)
        for (size_t size = 8 << 10; size <= LARGEST; size *= 8) measure(is_touched ? "limit-broadcast/8" : "limit-broadcast-untouched/8", broadcast, size, 1);
    if (me == 1) _exit(0);
    int status = 0;
    waitpid(child, &status, 0);
    return status != 0;
}
