// A receive whose request is lost.
// ranks: 2
// flags: --check
// expect: request
// expect: {file}:{line:MPI_Irecv}
#include "../wrong.h"

int main(int argc, char **argv)
{
    int value = 0;
    MPI_Request request;
    begin(&argc, &argv);
    if (rank == 0)
        MPI_Irecv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &request);
    else
        MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
