// One group of an intercommunicator broadcasts, the other reduces.
// ranks: 4
// flags: --check --timeout 60
// status: 3
// expect: collective call 1 on the communicator that MPI_Intercomm_create
// expect: differs in its function: rank 0 of MPI_COMM_WORLD calls MPI_Bcast in main at
// expect: {file}:{line:BROADCASTS}
// expect: {file}:{line:REDUCES}
// expect: of MPI_COMM_WORLD calls MPI_Reduce
#include "../wrong.h"

int main(int argc, char **argv)
{
    int value = 1;
    MPI_Comm half, both;
    begin(&argc, &argv);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 7, &both);
    if (rank % 2 == 0) {
        MPI_Bcast(&value, 1, MPI_INT, rank == 0 ? MPI_ROOT : MPI_PROC_NULL, both); /* BROADCASTS */
    } else {
        int sum = 0;
        MPI_Reduce(&value, &sum, 1, MPI_INT, MPI_SUM, 0, both); /* REDUCES */
    }
    MPI_Comm_free(&both);
    MPI_Comm_free(&half);
    MPI_Finalize();
    return 0;
}
