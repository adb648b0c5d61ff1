// Two receives into the same memory.
// ranks: 2
// flags: --check
// expect: overlap
// expect: {file}:{line:WRONG}
#include "../wrong.h"

int main(int argc, char **argv)
{
    int data[4] = {0};
    MPI_Request request[2];
    begin(&argc, &argv);
    if (rank == 0) {
        MPI_Irecv(data, 3, MPI_INT, 1, 0, MPI_COMM_WORLD, &request[0]);
        MPI_Irecv(data + 2, 2, MPI_INT, 1, 1, MPI_COMM_WORLD, &request[1]); /* WRONG */
        MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    } else {
        MPI_Send(data, 3, MPI_INT, 0, 0, MPI_COMM_WORLD);
        MPI_Send(data, 2, MPI_INT, 0, 1, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
