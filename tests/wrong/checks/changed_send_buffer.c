// A buffer that is filled anew while its message is still being sent.
// ranks: 2
// flags: --check
// expect: changed
// expect: {file}:{line:WRONG}
#include "../wrong.h"

int main(int argc, char **argv)
{
    static int data[1 << 18];
    MPI_Request request;
    begin(&argc, &argv);
    if (rank == 0) {
        MPI_Isend(data, 1 << 18, MPI_INT, 1, 0, MPI_COMM_WORLD, &request); /* WRONG */
        data[77] = 4;
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Recv(data, 1 << 18, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
