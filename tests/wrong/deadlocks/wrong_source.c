// Rank 0 listens to rank 1, but rank 2 speaks.
// ranks: 3
// flags: --hang-timeout 1 --on-hang abort
// status: 125
// expect: rank 0 is in MPI_Recv
// expect: rank 2
#include "../wrong.h"

int main(int argc, char **argv)
{
    int value = 0;
    begin(&argc, &argv);
    if (rank == 0)
        MPI_Recv(&value, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else if (rank == 2)
        MPI_Send(&value, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
