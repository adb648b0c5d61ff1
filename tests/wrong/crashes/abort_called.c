// abort() of the C library.
// ranks: 3
// status: signal 6
// expect: rank 0
// expect: SIGABRT
#include "../wrong.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        abort();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
