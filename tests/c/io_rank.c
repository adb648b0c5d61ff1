/* The I/O rank adds up what the ranks of the chip send it, and tells them the sum. One program for both sides. */
#include <corelace.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int is_io, rank, ranks, sum = 0, number, world;

    MPI_Init(&argc, &argv);
    MPIX_Io_rank(&is_io);
    MPI_Comm_rank(MPIX_COMM_LOCAL, &rank);
    MPI_Comm_size(MPIX_COMM_LOCAL, &ranks);
    MPI_Comm_size(MPI_COMM_WORLD, &world);
    int io = ranks - 1;
    if (is_io) {
        for (int i = 0; i < io; i++) {
            MPI_Recv(&number, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPIX_COMM_LOCAL, MPI_STATUS_IGNORE);
            sum += number;
        }
        for (int i = 0; i < io; i++) MPI_Send(&sum, 1, MPI_INT, i, 1, MPIX_COMM_LOCAL);
        printf("the I/O rank is %d, its world has %d, the sum is %d\n", rank, world, sum);
    } else {
        MPI_Send(&rank, 1, MPI_INT, io, 0, MPIX_COMM_LOCAL);
        MPI_Recv(&sum, 1, MPI_INT, io, 1, MPIX_COMM_LOCAL, MPI_STATUS_IGNORE);
        if (rank == 0) printf("%d ranks, and the sum is %d\n", world, sum);
    }
    MPI_Finalize();
    return 0;
}
