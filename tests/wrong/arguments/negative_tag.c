// Tags begin at zero.
// ranks: 2
// expect: MPI_Isend
// expect: tag is -42
// expect: {file}:{line:WRONG}
#include "../wrong.h"

int main(int argc, char **argv)
{
    int value = 0;
    MPI_Request request;
    begin(&argc, &argv);
    MPI_Isend(&value, 1, MPI_INT, 1 - rank, -42, MPI_COMM_WORLD, &request); /* WRONG */
    MPI_Finalize();
    return 0;
}
