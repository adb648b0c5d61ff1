/* MPI_THREAD_MULTIPLE: threads on communicators of their own, on one communicator, in collectives, as wildcards' receivers; a thread that waits for what
 * another thread of its own rank sends; a generalized request that another thread completes. */
#include "check.h"
#include <pthread.h>

enum { THREADS = 4, ROUNDS = 300 };

static MPI_Comm comms[THREADS];
static int wrong[THREADS];

static void *ring(void *argument)
{
    int me = (int)(size_t)argument, next = (rank + 1) % size, before = (rank + size - 1) % size;
    for (int round = 0; round < ROUNDS; round++) {
        int out[2] = {rank * 1000 + round, me}, in[2] = {-1, -1}, sum = 0;
        MPI_Sendrecv(out, 2, MPI_INT, next, round, in, 2, MPI_INT, before, round, comms[me], MPI_STATUS_IGNORE);
        wrong[me] += in[0] != before * 1000 + round || in[1] != me;
        if (round % 50 == 0) {
            MPI_Allreduce(&out[0], &sum, 1, MPI_INT, MPI_SUM, comms[me]);
            wrong[me] += sum != 1000 * size * (size - 1) / 2 + size * round;
        }
    }
    return NULL;
}

static void *tagged(void *argument)
{
    int me = (int)(size_t)argument, next = (rank + 1) % size, before = (rank + size - 1) % size;
    static int large[THREADS][2][20000];
    for (int round = 0; round < ROUNDS / 3; round++) {
        int count = round % 4 == 0 ? 20000 : 10, *out = large[me][0], *in = large[me][1];
        MPI_Request requests[2];
        for (int i = 0; i < count; i++) out[i] = rank + me * 7 + round * 13 + i, in[i] = -1;
        MPI_Irecv(in, count, MPI_INT, before, me, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(out, count, MPI_INT, next, me, MPI_COMM_WORLD, &requests[1]);
        if (round % 2) MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        else {
            int done = 0;
            while (!done) MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE);
        }
        for (int i = 0; i < count; i++) wrong[me] += in[i] != before + me * 7 + round * 13 + i;
    }
    return NULL;
}

/* One thread waits for what another one of the same rank sends. */
static void *to_itself(void *argument)
{
    int me = (int)(size_t)argument, value = me;
    for (int round = 0; round < ROUNDS; round++)
        if (me % 2 == 0) {
            MPI_Recv(&value, 1, MPI_INT, 0, me, MPI_COMM_SELF, MPI_STATUS_IGNORE);
            wrong[me] += value != me * 100 + round;
        } else {
            value = (me - 1) * 100 + round;
            MPI_Ssend(&value, 1, MPI_INT, 0, me - 1, MPI_COMM_SELF);
        }
    return NULL;
}

/* All threads of all ranks send to rank 0, whose threads take what comes. */
static void *wild(void *argument)
{
    int me = (int)(size_t)argument, sum = 0;
    for (int round = 0; round < ROUNDS / 3; round++) {
        int value = 1, taken;
        MPI_Request request;
        MPI_Isend(&value, 1, MPI_INT, 0, 77, MPI_COMM_WORLD, &request);
        if (rank == 0)
            for (int from = 0; from < size; from++) {
                MPI_Message message;
                MPI_Status status;
                MPI_Mprobe(MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &message, &status);
                MPI_Mrecv(&taken, 1, MPI_INT, &message, &status);
                sum += taken;
            }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    wrong[me] += rank == 0 && sum != size * (ROUNDS / 3);
    return NULL;
}

static int query(void *state, MPI_Status *status)
{
    (void)state;
    MPI_Status_set_elements(status, MPI_INT, 5);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}
static int release(void *state) { return *(int *)state = 1, MPI_SUCCESS; }
static int cancel(void *state, int complete) { return (void)state, (void)complete, MPI_SUCCESS; }

static void *complete(void *request)
{
    MPI_Grequest_complete(*(MPI_Request *)request);
    return NULL;
}

static void generalized(void)
{
    for (int round = 0; round < 50; round++) {
        int freed = 0, count = 0;
        MPI_Request request, handle;
        MPI_Status status;
        pthread_t worker;
        MPI_Grequest_start(query, release, cancel, &freed, &request);
        handle = request;
        pthread_create(&worker, NULL, complete, &handle);
        MPI_Wait(&request, &status);
        pthread_join(worker, NULL);
        MPI_Get_count(&status, MPI_INT, &count);
        CHECK(count == 5 && freed);
    }
}

/* Objects made and freed by all threads at once. */
static void *objects(void *argument)
{
    int me = (int)(size_t)argument;
    for (int round = 0; round < ROUNDS / 3; round++) {
        MPI_Datatype type;
        MPI_Comm twin;
        MPI_Type_vector(3, 1, 2, MPI_INT, &type);
        MPI_Type_commit(&type);
        MPI_Comm_dup(comms[me], &twin);
        int out[6] = {1, 0, 2, 0, 3, round}, in[6] = {0};
        MPI_Sendrecv(out, 1, type, rank, 0, in, 1, type, rank, 0, twin, MPI_STATUS_IGNORE);
        wrong[me] += in[0] != 1 || in[2] != 2 || in[4] != 3 || in[5] != 0;
        MPI_Type_free(&type);
        MPI_Comm_free(&twin);
    }
    return NULL;
}

static void all(void *(*work)(void *))
{
    pthread_t threads[THREADS];
    memset(wrong, 0, sizeof wrong);
    for (size_t i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        SAME(wrong[i], 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int provided, level, is_main;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Query_thread(&level);
    MPI_Is_thread_main(&is_main);
    CHECK(level == provided && is_main);
    if (provided == MPI_THREAD_MULTIPLE) {
        for (int i = 0; i < THREADS; i++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
        all(ring);
        all(tagged);
        all(to_itself);
        all(wild);
        all(objects);
        generalized();
        for (int i = 0; i < THREADS; i++) MPI_Comm_free(&comms[i]);
    }
    CHECK(argc < 2 || provided == MPI_THREAD_MULTIPLE);
    return conclude();
}
