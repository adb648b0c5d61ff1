// The message is there, in another communicator.
// ranks: 2
// flags: --hang-timeout 1 --on-hang abort
// status: 125
// expect: rank 0 is in MPI_Recv
// expect: on the communicator that MPI_Comm_dup [main at
// expect: {file}:{line:&copy}] made
#include "../wrong.h"

int main(int argc, char **argv)
{
    int value = 0;
    MPI_Comm copy;
    begin(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    if (rank == 0)
        MPI_Recv(&value, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(&value, 1, MPI_INT, 0, 7, copy);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
