// A probe for a message that nobody sends.
// ranks: 2
// flags: --hang-timeout 1 --on-hang abort
// status: 125
// expect: rank 1 is in MPI_Probe
// never: in a barrier
#include "../wrong.h"

int main(int argc, char **argv)
{
    MPI_Status status;
    begin(&argc, &argv);
    if (rank == 1)
        MPI_Probe(0, 11, MPI_COMM_WORLD, &status);
    MPI_Finalize();
    return 0;
}
