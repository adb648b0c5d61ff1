/* Calls MPI where it must not be called: before MPI_Init, or with "late" after MPI_Finalize; with "missing", something that may be
 * called first. */
#include <mpi.h>
#include <string.h>

int main(int argc, char **argv)
{
    int rank;
    if (argc > 1 && strcmp(argv[1], "missing") == 0) return MPI_File_delete("nothing", MPI_INFO_NULL) == MPI_SUCCESS;
    if (argc > 1) {
        MPI_Init(&argc, &argv);
        MPI_Finalize();
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return 0;
}
