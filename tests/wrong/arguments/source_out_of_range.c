// The left neighbour of the first rank.
// ranks: 2
// expect: MPI_Recv
// expect: source is -7
// expect: {file}:{line:WRONG}
#include "../wrong.h"

int main(int argc, char **argv)
{
    int value = 0;
    begin(&argc, &argv);
    MPI_Recv(&value, 1, MPI_INT, rank - 7 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* WRONG */
    MPI_Finalize();
    return 0;
}
