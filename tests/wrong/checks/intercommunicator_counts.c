// The two groups of an intercommunicator reduce different numbers of elements.
// ranks: 4
// flags: --check --timeout 60
// expect: differs in its number of bytes: rank 0 of MPI_COMM_WORLD calls MPI_Allreduce
// expect: with MPI_SUM and 8 bytes of MPI_INT
// expect: with MPI_SUM and 4 bytes of MPI_INT
// expect: {file}:{line:WRONG}
#include "../wrong.h"

int main(int argc, char **argv)
{
    int value[2] = {1, 1}, sum[2];
    MPI_Comm half, both;
    begin(&argc, &argv);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 7, &both);
    MPI_Comm_set_errhandler(both, MPI_ERRORS_RETURN);
    MPI_Allreduce(value, sum, rank % 2 ? 1 : 2, MPI_INT, MPI_SUM, both); /* WRONG */
    MPI_Comm_free(&both);
    MPI_Comm_free(&half);
    MPI_Finalize();
    return 0;
}
