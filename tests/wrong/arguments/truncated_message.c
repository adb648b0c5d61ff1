// Room for less than what is sent.
// ranks: 2
// expect: MPI_Recv
// expect: MPI_ERR_TRUNCATE
// expect: {file}:{line:WRONG}
#include "../wrong.h"

int main(int argc, char **argv)
{
    int value[4] = {0};
    begin(&argc, &argv);
    if (rank == 1)
        MPI_Send(value, 4, MPI_INT, 0, 0, MPI_COMM_WORLD);
    else
        MPI_Recv(value, 2, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* WRONG */
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
