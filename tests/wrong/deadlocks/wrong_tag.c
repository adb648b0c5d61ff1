// The message is there, under another tag.
// ranks: 2
// flags: --hang-timeout 1 --on-hang abort
// status: 125
// expect: tag 7
// expect: tag 8
#include "../wrong.h"

int main(int argc, char **argv)
{
    int value = 0;
    begin(&argc, &argv);
    if (rank == 0)
        MPI_Recv(&value, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(&value, 1, MPI_INT, 0, 8, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
