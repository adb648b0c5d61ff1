/* A matrix in the DDR of the I/O subsystem, as a window that the ranks of the chip take tiles of and put them back into, while the code of the I/O rank computes. One
 * program for both sides. */
#include <corelace.h>
#include <stdio.h>

enum { EDGE = 2048, TILE = 64 };

int main(int argc, char **argv)
{
    int is_io, rank, ranks;
    static int tile[TILE][TILE];
    int *matrix;
    long sum = 0, all = 0;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPIX_Io_rank(&is_io);
    MPI_Comm_rank(MPIX_COMM_LOCAL, &rank);
    MPI_Comm_size(MPIX_COMM_LOCAL, &ranks);
    int io = ranks - 1;
    /* 16 MiB, which no cluster has. */
    MPI_Aint bytes = is_io ? (MPI_Aint)EDGE * EDGE * sizeof(int) : 0;
    MPI_Win_allocate(bytes, sizeof(int), MPI_INFO_NULL, MPIX_COMM_LOCAL, &matrix, &win);
    if (is_io)
        for (int i = 0; i < EDGE * EDGE; i++) matrix[i] = i;
    MPI_Win_fence(0, win);
    double start = MPI_Wtime();
    if (is_io) {
        MPIX_Compute(4000000000);
    } else {
        MPI_Datatype part;
        MPI_Type_vector(TILE, TILE, EDGE, MPI_INT, &part);
        MPI_Type_commit(&part);
        MPI_Aint at = (MPI_Aint)(rank * TILE) * EDGE + rank * TILE;
        MPI_Get(tile, TILE * TILE, MPI_INT, io, at, 1, part, win);
        for (int i = 0; i < TILE; i++)
            for (int j = 0; j < TILE; j++) tile[i][j] -= (int)at + i * EDGE + j - 1;
        MPI_Put(tile, TILE * TILE, MPI_INT, io, at, 1, part, win);
        if (MPI_Wtime() - start > 1) printf("rank %d waited for the I/O rank\n", rank);
        MPI_Type_free(&part);
    }
    MPI_Win_fence(0, win);
    if (is_io)
        for (int n = 0; n < io * TILE * TILE; n++) {
            int of = n / (TILE * TILE), i = n / TILE % TILE, j = n % TILE;
            sum += matrix[(of * TILE + i) * EDGE + of * TILE + j];
        }
    MPI_Reduce(&sum, &all, 1, MPI_LONG, MPI_SUM, io, MPIX_COMM_LOCAL);
    if (is_io) printf("%ld elements are one\n", all);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
