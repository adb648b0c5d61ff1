// An integer divided by zero.
// ranks: 3
// status: signal 8
// expect: rank 1
// expect: SIGFPE
#include "../wrong.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    volatile int zero = 0;
    if (rank == 1)
        printf("%d\n", size / zero);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
