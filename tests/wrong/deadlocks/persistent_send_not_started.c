// A persistent send is made and waited for, but never started.
// ranks: 2
// flags: --hang-timeout 1 --on-hang abort
// status: 125
// expect: rank 1 waits for a message from rank 0 with tag 6; rank 0 has a persistent request for a send of 4 bytes to rank 1 with tag 6 that is not started
#include "../wrong.h"

int main(int argc, char **argv)
{
    int value = 1;
    MPI_Request request;
    begin(&argc, &argv);
    if (rank == 0) {
        MPI_Send_init(&value, 1, MPI_INT, 1, 6, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(&value, 1, MPI_INT, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
