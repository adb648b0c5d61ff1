// A rank that leaves as if all were well.
// ranks: 3
// status: 1
// expect: rank 0
// expect: without having called MPI_Finalize
#include "../wrong.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    if (rank == 0)
        exit(0);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
