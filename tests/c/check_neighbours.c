/* Right programs that come close to what `mpirun --check` looks for: other datatypes of the same signature, parts of nothing, collectives that are compared
 * late, receive buffers and windows that are used just in time. */
#include "check.h"

enum { MOST = 64 };

/* What is sent and what is received have the same basic types, however they are put together; of nothing there are no types. */
static void parts(void)
{
    int out[4 * MOST], in[4 * MOST], twos[MOST], ones[MOST], none[MOST], at[MOST], single[MOST], bytes_at[MOST];
    MPI_Datatype pair, gaps, pairs[MOST], ints[MOST];
    MPI_Request request;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_Type_vector(2, 1, 2, MPI_INT, &gaps);
    MPI_Type_commit(&gaps);
    for (int i = 0; i < size; i++) {
        twos[i] = 2, ones[i] = 1, none[i] = 0, at[i] = 4 * i, single[i] = 2 * i, bytes_at[i] = 16 * i;
        pairs[i] = pair, ints[i] = MPI_INT;
        for (int k = 0; k < 4; k++) out[4 * i + k] = rank;
    }
    MPI_Alltoallv(out, ones, single, pair, in, twos, at, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++) SAME(in[4 * i + 1], i);
    MPI_Ialltoallv(out, twos, at, MPI_INT, in, ones, single, pair, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Alltoallv(out, none, at, rank % 2 ? MPI_FLOAT : MPI_INT, in, none, at, MPI_DOUBLE, MPI_COMM_WORLD);
    MPI_Alltoallw(out, ones, bytes_at, pairs, in, twos, bytes_at, ints, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++) SAME(in[4 * i + 1], i);
    MPI_Allgatherv(out, 1, rank % 2 ? pair : gaps, in, twos, at, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++) SAME(in[4 * i + 1], i);
    MPI_Gatherv_init(out, 2, MPI_INT, in, ones, at, gaps, size - 1, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    for (int i = 0; i < 3; i++) {
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
    MPI_Scatterv(out, ones, single, pair, in, 2, MPI_INT, 0, MPI_COMM_WORLD);
    SAME(in[0], 0);
    MPI_Scatterv(out, twos, at, MPI_INT, rank == 0 ? MPI_IN_PLACE : in, 1, rank == 0 ? MPI_DOUBLE : pair, 0, MPI_COMM_WORLD);
    MPI_Type_free(&pair);
    MPI_Type_free(&gaps);
}

/* Rank 0 makes its calls late, on some communicators none at all, and so do the others. */
static void late(void)
{
    MPI_Comm quiet, part, copy;
    MPI_Request requests[4];
    int value = rank, sum, all[MOST];
    MPI_Comm_dup(MPI_COMM_WORLD, &quiet);
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 1, rank, &part);
    if (rank != 0) {
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, part);
        MPI_Comm_free(&part);
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Ibarrier(copy, &requests[0]);
    MPI_Iallreduce(&value, &sum, 1, MPI_INT, MPI_SUM, copy, &requests[1]);
    MPI_Iallgather(&value, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD, &requests[2]);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    SAME(sum, size * (size - 1) / 2);
    for (int i = 0; i < 200; i++) {
        MPI_Ibarrier(copy, &requests[0]);
        int done = 0;
        while (!done) MPI_Test(&requests[0], &done, MPI_STATUS_IGNORE);
    }
    MPI_Comm_free(&copy);
    MPI_Comm_free(&quiet);
    /* The last call, which the root leaves last or first. */
    MPI_Reduce(&value, &sum, 1, MPI_INT, MPI_SUM, size - 1, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    parts();
    late();
    return conclude();
}
