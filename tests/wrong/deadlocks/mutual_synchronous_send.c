// Synchronous sends wait for their receives, however short.
// ranks: 2
// flags: --hang-timeout 1 --on-hang abort
// status: 125
// expect: MPI_Ssend
// expect: {file}:{line:MPI_Ssend}
#include "../wrong.h"

int main(int argc, char **argv)
{
    int mine = 1, theirs;
    begin(&argc, &argv);
    MPI_Ssend(&mine, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD);
    MPI_Recv(&theirs, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
