/* Sends one message to itself. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int sent = 42, received = 0;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Irecv(&received, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &request);
    MPI_Send(&sent, 1, MPI_INT, 0, 3, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    printf("received %d\n", received);
    return MPI_Finalize();
}
