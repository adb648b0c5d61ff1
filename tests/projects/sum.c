/* What the projects beside build: the sum of all ranks, on every rank. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank, size, sum = 0;
    MPI_Fint number;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    number = MPI_Comm_c2f(MPI_COMM_WORLD);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_Comm_f2c(number));
    if (rank == 0) printf("the ranks of %d add up to %d\n", size, sum);
    MPI_Finalize();
    return 0;
}
