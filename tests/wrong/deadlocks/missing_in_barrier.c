// One rank receives what nobody sends, the others wait for it in a barrier.
// ranks: 4
// flags: --hang-timeout 1 --on-hang abort
// status: 125
// expect: MPI_Barrier
// expect: rank 3 is in MPI_Recv
#include "../wrong.h"

int main(int argc, char **argv)
{
    int value = 0;
    begin(&argc, &argv);
    if (rank == 3)
        MPI_Recv(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
