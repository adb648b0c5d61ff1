// exit in the middle.
// ranks: 3
// status: 5
// expect: rank 2
// expect: exited with status 5 before MPI_Finalize
#include "../wrong.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    if (rank == 2)
        exit(5);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
