// A persistent receive is started once more than its sender sends.
// ranks: 2
// flags: --hang-timeout 1 --on-hang abort
// status: 125
// expect: MPI_Wait
// expect: tag 9
#include "../wrong.h"

int main(int argc, char **argv)
{
    int value = 0;
    MPI_Request request;
    begin(&argc, &argv);
    if (rank == 0) {
        MPI_Recv_init(&value, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, &request);
        for (int i = 0; i < 3; i++) {
            MPI_Start(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        MPI_Request_free(&request);
    } else {
        for (int i = 0; i < 2; i++)
            MPI_Send(&value, 1, MPI_INT, 0, 9, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
