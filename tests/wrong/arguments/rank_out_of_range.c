// The right neighbour of the last rank.
// ranks: 2
// expect: MPI_Send
// expect: dest is 2
// expect: {file}:{line:WRONG}
#include "../wrong.h"

int main(int argc, char **argv)
{
    int value = 0;
    begin(&argc, &argv);
    if (rank == 1)
        MPI_Send(&value, 1, MPI_INT, rank + 1, 0, MPI_COMM_WORLD); /* WRONG */
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
