// Everybody waits for its left neighbour first.
// ranks: 3
// flags: --hang-timeout 1 --on-hang abort
// status: 125
// expect: MPI_Recv
// expect: wait in a circle
#include "../wrong.h"

int main(int argc, char **argv)
{
    int token = 0;
    begin(&argc, &argv);
    MPI_Recv(&token, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&token, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
