// One rank never comes.
// ranks: 3
// flags: --hang-timeout 1 --on-hang abort
// modes: process
// status: 125
// expect: MPI_Barrier
// expect: rank 2
#include "../wrong.h"

int main(int argc, char **argv)
{
    if (getenv("PMI_RANK") && atoi(getenv("PMI_RANK")) == 2)
        return 0;
    begin(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
