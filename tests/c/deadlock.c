/* All ranks receive, none sends. With an argument the last rank does not even receive and goes to MPI_Finalize. */
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, size, number;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc == 1 || rank < size - 1)
        MPI_Recv(&number, 1, MPI_INT, (rank + 1) % 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
