// The data that collectives send is changed before they are complete: by members and by a root, in one piece and in parts.
// ranks: 2
// flags: --check --timeout 60
// status: 3
// expect: rank 1: sendbuf of MPI_Iallreduce in main at
// expect: {file}:{line:COMPLETED} completed the operation (allreduce), expected it to be left alone
// expect: rank 0: buffer of MPI_Ibcast in main at
// expect: rank 0: sendbuf of MPI_Igather in main at
// expect: rank 1: sendbuf of MPI_Ialltoallv in main at
// expect: rank 0: sendbuf of MPI_Start in main at
// never: rank 1: buffer of MPI_Ibcast
#include "../wrong.h"

static void finish(MPI_Request *request)
{
    MPI_Wait(request, MPI_STATUS_IGNORE); /* COMPLETED */
}

int main(int argc, char **argv)
{
    static int out[1000], in[2000];
    static const int counts[2] = {10, 20}, at[2] = {0, 500}, same[2] = {10, 10}, other[2] = {20, 20};
    MPI_Request request;
    begin(&argc, &argv);
    MPI_Iallreduce(out, in, 1000, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    if (rank == 1) out[999]++;
    finish(&request);
    MPI_Ibcast(out, 1000, MPI_INT, 0, MPI_COMM_WORLD, &request);
    if (rank == 0) out[0]++;
    finish(&request);
    MPI_Igather(out, 3, MPI_INT, in, 3, MPI_INT, 1, MPI_COMM_WORLD, &request);
    if (rank == 0) out[2]++;
    finish(&request);
    MPI_Ialltoallv(out, counts, at, MPI_INT, in, rank == 0 ? same : other, at, MPI_INT, MPI_COMM_WORLD, &request);
    if (rank == 1) out[519]++, out[15]++;
    finish(&request);
    MPI_Reduce_init(out, in, 100, MPI_INT, MPI_SUM, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    if (rank == 0) out[99]++;
    finish(&request);
    MPI_Request_free(&request);
    MPI_Finalize();
    return 0;
}
