/* Every rank exchanges a message with every other, N bytes long, and checks what it got. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    int rank, ranks, bytes = argc > 1 ? atoi(argv[1]) : 32768;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    char *mine = malloc(bytes), *theirs = malloc(bytes);
    if (!mine || !theirs) MPI_Abort(MPI_COMM_WORLD, 3);
    memset(mine, rank, bytes);
    for (int step = 1; step < ranks; step++) {
        int to = (rank + step) % ranks, from = (rank - step + ranks) % ranks;
        MPI_Sendrecv(mine, bytes, MPI_BYTE, to, 0, theirs, bytes, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (theirs[0] != (char)from || theirs[bytes - 1] != (char)from) {
            fprintf(stderr, "rank %d got something else from rank %d\n", rank, from);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    free(mine);
    free(theirs);
    MPI_Finalize();
    if (rank == 0) printf("no errors\n");
    return 0;
}
