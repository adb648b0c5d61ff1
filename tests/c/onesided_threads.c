/* One-sided under MPI_THREAD_MULTIPLE: threads with windows of their own, and threads that share one. */
#include "check.h"
#include <pthread.h>

enum { THREADS = 4, TIMES = 100 };
static MPI_Comm comms[THREADS];
static MPI_Win common;
static int wrong[THREADS];
/* What threads add to the common window, whose epoch ends after they do. */
static long one = 1;

#define HOLDS(condition)                                                                                                 \
    do {                                                                                                                 \
        if (!(condition) && !wrong[me]++) fprintf(stderr, "rank %d thread %d, line %d: %s\n", rank, me, __LINE__, #condition); \
    } while (0)

static void *work(void *argument)
{
    int me = *(int *)argument, next = (rank + 1) % size;
    for (int round = 0; round < 5; round++) {
        long *base, memory[2] = {0, 0}, value = 100 * rank + me, seen = -1, was;
        MPI_Win win;
        if (round % 2) {
            MPI_Win_allocate(2 * sizeof(long), sizeof(long), MPI_INFO_NULL, comms[me], &base, &win);
        } else {
            MPI_Win_create(base = memory, 2 * sizeof(long), sizeof(long), MPI_INFO_NULL, comms[me], &win);
        }
        MPI_Win_fence(0, win);
        MPI_Put(&value, 1, MPI_LONG, next, 0, 1, MPI_LONG, win);
        MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
        HOLDS(base[0] == 100 * ((rank + size - 1) % size) + me);
        MPI_Win_lock_all(0, win);
        for (int i = 0; i < TIMES; i++) {
            MPI_Fetch_and_op(&one, &was, MPI_LONG, 0, 1, MPI_SUM, win);
            MPI_Win_flush(0, win);
        }
        MPI_Get(&seen, 1, MPI_LONG, next, 0, 1, MPI_LONG, win);
        MPI_Win_flush(next, win);
        HOLDS(seen == value);
        MPI_Win_unlock_all(win);
        MPI_Barrier(comms[me]);
        HOLDS(base[1] == (rank == 0 ? (long)TIMES * size : 0));
        MPI_Win_free(&win);
        /* The one that all share, in the epoch that the first thread has opened. */
        for (int i = 0; i < TIMES; i++) MPI_Accumulate(&one, 1, MPI_LONG, next, 0, 1, MPI_LONG, MPI_SUM, common);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided, numbers[THREADS];
    long *sum;
    pthread_t threads[THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    SAME(provided, MPI_THREAD_MULTIPLE);
    for (int i = 0; i < THREADS; i++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    MPI_Win_allocate(sizeof(long), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &sum, &common);
    MPI_Win_lock_all(0, common);
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, work, &numbers[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        failures += wrong[i];
    }
    MPI_Win_unlock_all(common);
    MPI_Barrier(MPI_COMM_WORLD);
    SAME(*sum, 5L * TIMES * THREADS);
    MPI_Win_free(&common);
    for (int i = 0; i < THREADS; i++) MPI_Comm_free(&comms[i]);
    return conclude();
}
