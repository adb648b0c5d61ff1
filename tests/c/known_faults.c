/* Slow in a known way, chosen by the first word, for reports to name:
 *   late       rank 0 computes before it sends to rank 1, which waits
 *   unbalanced rank 2 computes ten times as long as the others before they meet
 *   hot        rank 0 streams to rank 1 while the others stay silent                                           */
#include <corelace.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 65536, MILLION = 1000000 };

int main(int argc, char **argv)
{
    int rank;
    const char *what = argc > 1 ? argv[1] : "late";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char *data = calloc(1, BYTES);
    if (!data) MPI_Abort(MPI_COMM_WORLD, 3);
    if (strcmp(what, "late") == 0 && rank == 0) {
        MPIX_Compute(50 * MILLION);
        MPI_Send(data, 8, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    } else if (strcmp(what, "late") == 0 && rank == 1) {
        MPI_Recv(data, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (strcmp(what, "unbalanced") == 0) {
        MPIX_Compute(rank == 2 ? 50 * MILLION : 5 * MILLION);
    } else if (strcmp(what, "hot") == 0 && rank < 2) {
        for (int i = 0; i < 50; i++) {
            if (rank == 0) MPI_Send(data, BYTES, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
            else MPI_Recv(data, BYTES, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    free(data);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    if (rank == 0) printf("no errors\n");
    return 0;
}
