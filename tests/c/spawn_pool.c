/* A pool whose workers come and go: so many processes are started one after the other, of which each ends before the next comes. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    MPI_Comm parent, worker;
    int sum = 0, word;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        MPI_Recv(&word, 1, MPI_INT, 0, 1, parent, MPI_STATUS_IGNORE);
        word *= 2;
        MPI_Send(&word, 1, MPI_INT, 0, 1, parent);
        MPI_Comm_disconnect(&parent);
        MPI_Finalize();
        return 0;
    }
    for (int turn = 0; turn < atoi(argv[1]); turn++) {
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &worker, MPI_ERRCODES_IGNORE);
        MPI_Send(&turn, 1, MPI_INT, 0, 1, worker);
        MPI_Recv(&word, 1, MPI_INT, 0, 1, worker, MPI_STATUS_IGNORE);
        sum += word == 2 * turn;
        MPI_Comm_disconnect(&worker);
    }
    printf("%d\n", sum);
    MPI_Finalize();
    return 0;
}
