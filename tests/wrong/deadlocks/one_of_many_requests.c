// Four receives, three messages.
// ranks: 2
// flags: --hang-timeout 1 --on-hang abort
// status: 125
// expect: MPI_Waitall
// expect: tag 3
#include "../wrong.h"

int main(int argc, char **argv)
{
    int value[4] = {0};
    MPI_Request request[4];
    begin(&argc, &argv);
    for (int i = 0; i < 4 && rank == 0; i++)
        MPI_Irecv(&value[i], 1, MPI_INT, 1, i, MPI_COMM_WORLD, &request[i]);
    for (int i = 0; i < 3 && rank == 1; i++)
        MPI_Send(&value[i], 1, MPI_INT, 0, i, MPI_COMM_WORLD);
    if (rank == 0)
        MPI_Waitall(4, request, MPI_STATUSES_IGNORE);
    MPI_Finalize();
    return 0;
}
