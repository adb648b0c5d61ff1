// A recursion without end.
// ranks: 3
// status: signal 11
// expect: rank 2
// expect: SIGSEGV
// thread expect: stack
// fiber expect: stack
#include "../wrong.h"

static int deeper(int level)
{
    volatile char frame[4096];
    frame[0] = (char)level;
    return deeper(level + 1) + frame[0];
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 2)
        printf("%d\n", deeper(0));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
