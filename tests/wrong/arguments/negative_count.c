// A count that was computed wrongly.
// ranks: 2
// expect: MPI_Send
// expect: count is -3
// expect: {file}:{line:WRONG}
#include "../wrong.h"

int main(int argc, char **argv)
{
    int value = 0;
    begin(&argc, &argv);
    MPI_Send(&value, -3, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD); /* WRONG */
    MPI_Finalize();
    return 0;
}
