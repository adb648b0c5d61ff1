/* What the machine allows, without any MPI: one cache line from one core to another, and memcpy.
 *   figure limit-cache-line 64 VALUE us      one way, half of a round trip between the first two cores
 *   figure limit-copy SIZE VALUE us
 * usage: limits QUICK                                                                                 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TRIPS = 200000, ATTEMPTS = 5, LARGEST = 2 << 20, COPIED = 1 << 28 };

static _Alignas(128) atomic_int there;
static _Alignas(128) atomic_int back;
static int trips;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

/* Keeps the calling thread on one core, if there is such a core. */
static void stay_on(int core)
{
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(core, &cores);
    pthread_setaffinity_np(pthread_self(), sizeof cores, &cores);
}

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

static double copy(char *into, const char *from, size_t size, int times)
{
    double begin = now();
    for (int i = 0; i < times; i++) {
        memcpy(into, from, size);
        __asm__ volatile("" : : "r"(into) : "memory");
    }
    return (now() - begin) / times;
}

int main(int argc, char **argv)
{
    int share = argc > 1 && atoi(argv[1]) ? 10 : 1;
    double best = 1e9;
    trips = TRIPS / share;
    stay_on(0);
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        double each = one_way();
        if (each < best) best = each;
    }
    printf("figure limit-cache-line 64 %.4f us\n", best * 1e6);
    char *from = malloc(LARGEST), *into = malloc(LARGEST);
    memset(from, 1, LARGEST);
    memset(into, 2, LARGEST);
    for (size_t size = 4096; size <= LARGEST; size *= 8) {
        best = 1e9;
        for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
            double each = copy(into, from, size, (int)(COPIED / size / share / ATTEMPTS + 1));
            if (each < best) best = each;
        }
        printf("figure limit-copy %zu %.4f us\n", size, best * 1e6);
    }
    free(from);
    free(into);
    return 0;
}
