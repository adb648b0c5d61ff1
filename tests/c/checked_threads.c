/* MPI_THREAD_MULTIPLE as `mpirun --check` sees it: threads in collectives of communicators of their own, two that complete and begin collectives of the same
 * one, messages that follow each other in many threads, and windows. */
#include "check.h"
#include <pthread.h>

enum { THREADS = 4, ROUNDS = 60 };

static MPI_Comm comms[THREADS], shared;
static pthread_barrier_t begun;

static void *collectives(void *argument)
{
    MPI_Comm comm = comms[*(int *)argument];
    for (int round = 0; round < ROUNDS; round++) {
        int value = rank + round, sum = 0, all[64];
        MPI_Request requests[2];
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm);
        SAME(sum, size * (size - 1) / 2 + size * round);
        MPI_Iallgather(&value, 1, MPI_INT, all, 1, MPI_INT, comm, &requests[0]);
        MPI_Ibarrier(comm, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        SAME(all[size - 1], size - 1 + round);
        if (round % 20 == 0) {
            MPI_Comm copy;
            MPI_Comm_dup(comm, &copy);
            MPI_Bcast(&value, 1, MPI_INT, round % size, copy);
            SAME(value, round % size + round);
            MPI_Comm_free(&copy);
        }
    }
    return NULL;
}

static MPI_Request handed_over;

/* One thread begins a collective and another completes it, while the first is in the next one of the same communicator. */
static void *begins(void *unused)
{
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Ibarrier(shared, &handed_over);
        pthread_barrier_wait(&begun);
        MPI_Barrier(shared);
        pthread_barrier_wait(&begun);
    }
    return unused;
}

static void *completes(void *unused)
{
    for (int round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(&begun);
        MPI_Wait(&handed_over, MPI_STATUS_IGNORE);
        pthread_barrier_wait(&begun);
    }
    return unused;
}

/* Messages of other types in each thread, with tags of their own and with the same one. */
static void *messages(void *argument)
{
    int me = *(int *)argument, next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Datatype types[] = {MPI_INT, MPI_FLOAT, MPI_UNSIGNED, MPI_INT}, type = types[me];
    for (int round = 0; round < ROUNDS; round++) {
        static int out[THREADS][30000], in[THREADS][30000];
        int count = round % 5 ? 10 : 30000;
        MPI_Request request;
        MPI_Isend(out[me], count, type, next, me, MPI_COMM_WORLD, &request);
        MPI_Recv(in[me], count, type, round % 2 ? before : MPI_ANY_SOURCE, me, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Sendrecv(out[me], 4, MPI_INT, next, 99, in[me], 4, MPI_INT, before, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return NULL;
}

static void *windows(void *argument)
{
    int me = *(int *)argument;
    for (int round = 0; round < 5; round++) {
        long *base, one = 1, was;
        MPI_Win win;
        MPI_Win_allocate(2 * sizeof(long), sizeof(long), MPI_INFO_NULL, comms[me], &base, &win);
        base[0] = base[1] = 0;
        MPI_Barrier(comms[me]);
        MPI_Win_lock_all(0, win);
        MPI_Fetch_and_op(&one, &was, MPI_LONG, 0, 0, MPI_SUM, win);
        MPI_Win_flush(0, win);
        MPI_Win_unlock_all(win);
        MPI_Barrier(comms[me]);
        if (rank == 0) SAME(base[0], size);
        MPI_Win_free(&win);
    }
    return NULL;
}

static void run(void *(*work)(void *))
{
    static int numbers[THREADS];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, work, &numbers[i]);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
    int provided;
    pthread_t threads[2];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    SAME(provided, MPI_THREAD_MULTIPLE);
    for (int i = 0; i < THREADS; i++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    MPI_Comm_dup(MPI_COMM_WORLD, &shared);
    run(collectives);
    pthread_barrier_init(&begun, NULL, 2);
    pthread_create(&threads[0], NULL, begins, NULL);
    pthread_create(&threads[1], NULL, completes, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    run(messages);
    run(windows);
    for (int i = 0; i < THREADS; i++) MPI_Comm_free(&comms[i]);
    MPI_Comm_free(&shared);
    return conclude();
}
