// Nowhere to put the request.
// ranks: 2
// expect: MPI_Irecv
// expect: request
// expect: {file}:{line:WRONG}
#include "../wrong.h"

int main(int argc, char **argv)
{
    int value;
    begin(&argc, &argv);
    MPI_Irecv(&value, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, NULL); /* WRONG */
    MPI_Finalize();
    return 0;
}
