/* Calls MPI where it must not be called: before MPI_Init, or with "late" after MPI_Finalize; with "session", something that may be
 * called first. */
#include <mpi.h>
#include <string.h>

int main(int argc, char **argv)
{
    int rank;
    if (argc > 1 && strcmp(argv[1], "session") == 0) {
        MPI_Session session;
        return MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS;
    }
    if (argc > 1) {
        MPI_Init(&argc, &argv);
        MPI_Finalize();
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return 0;
}
