// One rank skips a collective and goes to the end.
// ranks: 3
// flags: --hang-timeout 1 --on-hang abort
// status: 125
// expect: MPI_Allreduce
// expect: MPI_Finalize
#include "../wrong.h"

int main(int argc, char **argv)
{
    int one = 1, sum = 0;
    begin(&argc, &argv);
    if (rank != 1)
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
