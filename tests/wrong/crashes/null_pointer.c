// A null pointer.
// ranks: 3
// status: signal 11
// expect: rank 1
// expect: SIGSEGV
// process expect: MPI_Barrier
// fiber expect: {file}:{line:WRONG}
// thread expect: {file}:{line:WRONG}
#include "../wrong.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        *(volatile int *)8 = 1; /* WRONG */
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
