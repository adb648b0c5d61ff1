// MPI_Abort of one rank ends all.
// ranks: 3
// status: 42
// expect: rank 1 called MPI_Abort with code 42
#include "../wrong.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    if (rank == 1)
        MPI_Abort(MPI_COMM_WORLD, 42);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
