// Two large messages cross: neither is buffered, so neither send returns.
// ranks: 2
// flags: --hang-timeout 1 --on-hang abort
// status: 125
// expect: MPI_Send
// expect: 4194304
#include "../wrong.h"

static char mine[4 << 20], theirs[4 << 20];

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Send(mine, sizeof mine, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD);
    MPI_Recv(theirs, sizeof theirs, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
