// A copy of a request that was completed through the original.
// ranks: 2
// flags: --check
// expect: request
// expect: {file}:{line:WRONG}
#include "../wrong.h"

int main(int argc, char **argv)
{
    int value = 0, done;
    MPI_Request request, copy;
    begin(&argc, &argv);
    MPI_Irecv(&value, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &request);
    copy = request;
    MPI_Send(&value, 1, MPI_INT, rank, 0, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Test(&copy, &done, MPI_STATUS_IGNORE); /* WRONG */
    MPI_Finalize();
    return 0;
}
