/* The last but one rank ends in an unusual way; the others wait for it in a barrier if it does not get there.
 * usage: endings abort|abort-self|status|no-finalize|exit|crash|last-words */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    int rank, size;
    const char *how = argc > 1 ? argv[1] : "";

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == size - 2) {
        if (!strcmp(how, "abort")) MPI_Abort(MPI_COMM_WORLD, 7);
        if (!strcmp(how, "abort-self")) MPI_Abort(MPI_COMM_SELF, 8);
        if (!strcmp(how, "no-finalize")) exit(0);
        if (!strcmp(how, "exit")) exit(9);
        if (!strcmp(how, "crash")) *(volatile int *)8 = 1;
        if (!strcmp(how, "last-words")) {
            printf("last words of rank %d\n", rank);
            exit(6);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    printf("done %d\n", rank);
    return !strcmp(how, "status") && rank == size - 2 ? 5 : 0;
}
