// Both groups of an intercommunicator say that the root is among them.
// ranks: 4
// flags: --check --timeout 60
// status: 3
// expect: differs in its root: rank 0 of MPI_COMM_WORLD calls MPI_Bcast
// expect: with root MPI_ROOT and 4 bytes of MPI_INT
// expect: {file}:{line:WRONG}
#include "../wrong.h"

int main(int argc, char **argv)
{
    int value = 1;
    MPI_Comm half, both;
    begin(&argc, &argv);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 7, &both);
    MPI_Bcast(&value, 1, MPI_INT, rank < 2 ? MPI_ROOT : MPI_PROC_NULL, both); /* WRONG */
    MPI_Comm_free(&both);
    MPI_Comm_free(&half);
    MPI_Finalize();
    return 0;
}
