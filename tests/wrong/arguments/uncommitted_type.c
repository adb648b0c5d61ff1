// A datatype has to be committed before it is used.
// ranks: 2
// expect: MPI_Send
// expect: commit
// expect: {file}:{line:WRONG}
#include "../wrong.h"

int main(int argc, char **argv)
{
    int value[2] = {0};
    MPI_Datatype pair;
    begin(&argc, &argv);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Send(value, 1, pair, 1 - rank, 0, MPI_COMM_WORLD); /* WRONG */
    MPI_Finalize();
    return 0;
}
