/* Calls MPI where it must not be called: before MPI_Init, or with "late" after MPI_Finalize. */
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank;
    if (argc > 1) {
        MPI_Init(&argc, &argv);
        MPI_Finalize();
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return 0;
}
