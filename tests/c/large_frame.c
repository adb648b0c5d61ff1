/* One rank has a local array as large as its whole stack and writes to the far end of it: no other rank may notice, but by the end of the
   job. The array is never touched in between, so the writes jump over a small guard. */
#include <mpi.h>

#include <stdio.h>
#include <string.h>

__attribute__((noinline, optimize("no-stack-clash-protection"))) static void write_far(int rank) {
    char large[8u << 20];
    char *volatile far_end = large;
    memset(far_end, 0x5a, 4096);
    printf("rank %d has written\n", rank);
    fflush(stdout);
}

int main(int argc, char **argv) {
    int rank = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) write_far(rank);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
