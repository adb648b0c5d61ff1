// Both wait for the other's message before they send their own.
// ranks: 2
// flags: --hang-timeout 1 --on-hang abort
// status: 125
// expect: rank 0 is in MPI_Recv
// expect: {file}:{line:MPI_Recv}
// expect: wait for each other
#include "../wrong.h"

int main(int argc, char **argv)
{
    int mine = 1, theirs;
    begin(&argc, &argv);
    MPI_Recv(&theirs, 1, MPI_INT, 1 - rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&mine, 1, MPI_INT, 1 - rank, 5, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
