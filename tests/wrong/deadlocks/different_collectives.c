// The ranks do not agree on what they do together.
// ranks: 2
// flags: --hang-timeout 1 --on-hang abort
// status: 125
// expect: MPI_Barrier
// expect: MPI_Allreduce
#include "../wrong.h"

int main(int argc, char **argv)
{
    int one = 1, sum = 0;
    begin(&argc, &argv);
    if (rank == 0)
        MPI_Barrier(MPI_COMM_WORLD);
    else
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
