/* Makes a mistake under the default error handler. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Send(NULL, 0, MPI_INT, 77, 0, MPI_COMM_WORLD);
    puts("still here");
    MPI_Finalize();
    return 0;
}
