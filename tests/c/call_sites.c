/* Two ranks that go wrong in the line that the first argument names, for tests of what is said about the line.
 * usage: call_sites hang|error|crash|leak|fine */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static int rank;

static void crash(volatile int *address)
{
    MPI_Barrier(MPI_COMM_WORLD); /* the last call */
    if (rank == 1) *address = 1; /* the crash */
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    int value = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!strcmp(how, "hang")) {
        MPI_Recv(&value, 1, MPI_INT, 1 - rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* the hang */
    } else if (!strcmp(how, "error")) {
        MPI_Send(&value, -1, MPI_INT, 1 - rank, 5, MPI_COMM_WORLD); /* the error */
    } else if (!strcmp(how, "crash")) {
        crash((volatile int *)8); /* the crash's caller */
    } else if (!strcmp(how, "leak")) {
        MPI_Comm twin;
        MPI_Comm_dup(MPI_COMM_WORLD, &twin); /* the leak */
    } else if (!strcmp(how, "fine")) {
        MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD); /* nothing wrong */
    }
    MPI_Finalize();
    return 0;
}
