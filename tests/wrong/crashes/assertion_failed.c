// An assertion that does not hold.
// ranks: 3
// status: signal 6
// expect: rank 2
// expect: size == 2
#include "../wrong.h"
#include <assert.h>

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 2)
        assert(size == 2);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
