// Checks follow all threads of MPI_THREAD_MULTIPLE, which is provided: each makes a mistake of its own.
// ranks: 2
// modes: process
// flags: --check --timeout 60
// status: 3
// expect: the level is provided
// expect: rank 1: MPI_Recv in mistype at
// expect: element 0 is sent as MPI_INT and received as MPI_FLOAT
// expect: rank 0: buf of MPI_Isend in change at
// expect: differs in its operation: rank 0 calls MPI_Allreduce in reduce at
// expect: 1 datatype made by MPI_Type_contiguous in leak at
// never: one thread at a time
#include "../wrong.h"

#include <pthread.h>

static MPI_Comm comms[4];

static void *mistype(void *unused)
{
    int value[100] = {0};
    for (int i = 0; i < 50; i++)
        if (rank == 0)
            MPI_Send(value, 100, MPI_INT, 1, 1, comms[0]);
        else
            MPI_Recv(value, 100, i == 49 ? MPI_FLOAT : MPI_INT, 0, 1, comms[0], MPI_STATUS_IGNORE);
    return unused;
}

static void *change(void *unused)
{
    static int value[50000];
    MPI_Request request;
    if (rank == 0) {
        MPI_Isend(value, 50000, MPI_INT, 1, 1, comms[1], &request);
        value[7]++;
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(value, 50000, MPI_INT, 0, 1, comms[1], MPI_STATUS_IGNORE);
    }
    return unused;
}

static void *reduce(void *unused)
{
    int value = 1, sum;
    for (int i = 0; i < 50; i++)
        MPI_Allreduce(&value, &sum, 1, MPI_INT, i == 49 && rank ? MPI_MAX : MPI_SUM, comms[2]);
    return unused;
}

static void *leak(void *unused)
{
    MPI_Datatype type;
    MPI_Type_contiguous(3, MPI_INT, &type);
    for (int i = 0; i < 50; i++) MPI_Barrier(comms[3]);
    return unused;
}

int main(int argc, char **argv)
{
    static void *(*const work[4])(void *) = {mistype, change, reduce, leak};
    int provided;
    pthread_t threads[4];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (provided == MPI_THREAD_MULTIPLE) fprintf(stderr, "the level is provided\n");
    for (int i = 0; i < 4; i++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, work[i], NULL);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < 4; i++) MPI_Comm_free(&comms[i]);
    MPI_Finalize();
    return 0;
}
