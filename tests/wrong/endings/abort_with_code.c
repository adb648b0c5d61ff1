// MPI_Abort of one rank ends all.
// ranks: 3
// status: 42
// expect: rank 1 ended the job with code 42: MPI_Abort was called on MPI_COMM_WORLD
// expect: {file}:{line:MPI_Abort(}
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
