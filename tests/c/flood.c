/* Rank 0 sends short messages that rank 1 never receives, until the memory for them is gone. */
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank;
    char bytes[96] = {0};

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        for (int i = 0; i < 1000000; i++) MPI_Send(bytes, sizeof bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
