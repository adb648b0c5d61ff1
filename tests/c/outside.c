/* Calls MPI where it must not be called: before MPI_Init, or with "late" after MPI_Finalize. */
#include <mpi.h>
#include <string.h>

int main(int argc, char **argv)
{
    int rank;
    if (argc > 1 && !strcmp(argv[1], "late")) {
        MPI_Init(&argc, &argv);
        MPI_Finalize();
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank); /* the call */
    return 0;
}
