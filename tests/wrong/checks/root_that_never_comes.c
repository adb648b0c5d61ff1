// All but the root reduce, and the root makes no collective call at all.
// ranks: 3
// flags: --check --timeout 60
// status: 3
// expect: rank 0: this rank made 0 collective calls on MPI_COMM_WORLD, rank 1 made 1, expected as many: MPI_Reduce in main at
// expect: {file}:{line:WRONG} with root 0 and MPI_SUM and 4 bytes of MPI_INT is the first that is missing
#include "../wrong.h"

int main(int argc, char **argv)
{
    int value = 1, sum = 0;
    begin(&argc, &argv);
    if (rank != 0)
        MPI_Reduce(&value, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD); /* WRONG */
    MPI_Finalize();
    return 0;
}
