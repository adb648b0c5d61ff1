/* Tiles of a matrix in the DDR of the I/O subsystem, streamed through two buffers: while one is worked on, the next comes and the one before goes. That takes less
 * time than one after the other, and gives the same matrix. One program for both sides. */
#include <corelace.h>
#include <stdio.h>

enum { EDGE = 512, TILE = 64, TILES = EDGE / TILE, WORK = 30000 };

static int buffers[2][TILE][TILE];
static const int whole[2] = {EDGE, EDGE}, block[2] = {TILE, TILE}, corner[2] = {0, 0};

/* Adds one to the tiles of a line. */
static double line(int of, int io, MPI_Win win, int streamed)
{
    MPI_Request in[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL}, out[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    double start = MPI_Wtime();
    for (int k = 0; k < TILES + 1; k++) {
        int begun = streamed ? k : k - 1, worked = k - 1;
        if (begun >= 0 && begun < TILES) {
            int at[2] = {of * TILE, begun * TILE};
            MPI_Wait(&out[begun % 2], MPI_STATUS_IGNORE);
            MPIX_Get_block(2, block, buffers[begun % 2], block, corner, MPI_INT, io, 0, whole, at, win, &in[begun % 2]);
        }
        if (worked < 0) continue;
        int (*tile)[TILE] = buffers[worked % 2], at[2] = {of * TILE, worked * TILE};
        MPI_Wait(&in[worked % 2], MPI_STATUS_IGNORE);
        for (int i = 0; i < TILE * TILE; i++) tile[0][i]++;
        MPIX_Compute(WORK);
        MPIX_Put_block(2, block, tile, block, corner, MPI_INT, io, 0, whole, at, win, &out[worked % 2]);
        if (!streamed) MPI_Wait(&out[worked % 2], MPI_STATUS_IGNORE);
    }
    MPI_Waitall(2, out, MPI_STATUSES_IGNORE);
    return MPI_Wtime() - start;
}

int main(int argc, char **argv)
{
    int is_io, rank, ranks, wrong = 0, *matrix;
    double plain = 0, streamed = 0;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPIX_Io_rank(&is_io);
    MPI_Comm_rank(MPIX_COMM_LOCAL, &rank);
    MPI_Comm_size(MPIX_COMM_LOCAL, &ranks);
    int io = ranks - 1;
    MPI_Win_allocate(is_io ? EDGE * EDGE * sizeof(int) : 0, sizeof(int), MPI_INFO_NULL, MPIX_COMM_LOCAL, &matrix, &win);
    for (int i = 0; is_io && i < EDGE * EDGE; i++) matrix[i] = i;
    MPI_Win_fence(0, win);
    if (rank == 0) plain = line(0, io, win, 0);
    MPI_Win_fence(0, win);
    if (rank == 0) streamed = line(1, io, win, 1);
    MPI_Win_fence(0, win);
    for (int i = 0; is_io && i < EDGE * EDGE; i++) wrong += matrix[i] != i + (i < 2 * TILE * EDGE);
    if (is_io) printf("%d elements are wrong\n", wrong);
    if (rank == 0) printf("%s\n", streamed < 0.8 * plain ? "streaming pays" : "streaming does not pay");
    if (rank == 0 && argc > 1) printf("%g s and %g s\n", plain, streamed);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
