// A signal that cannot be caught.
// ranks: 3
// modes: process
// status: signal 9
// expect: rank 1
// expect: SIGKILL
#include "../wrong.h"
#include <signal.h>

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        raise(SIGKILL);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
