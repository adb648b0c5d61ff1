// A server that waits for one client too many.
// ranks: 3
// flags: --hang-timeout 1 --on-hang abort
// status: 125
// expect: rank 0 is in MPI_Recv
// expect: any rank
#include "../wrong.h"

int main(int argc, char **argv)
{
    int value = 0;
    begin(&argc, &argv);
    if (rank == 0)
        for (int clients = 0; clients < size; clients++)
            MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
