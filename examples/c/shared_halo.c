/* Heat in a plate, on a grid of ranks that read each other's edges straight out of shared memory.   usage: shared_halo [CELLS [STEPS]]
 *
 * Every rank has a block of the plate with a rim around it, in a window of MPI_Win_allocate_shared. In each step it copies the edges of its neighbours into its rim, by plain loads:
 * there are no messages. One barrier a step is enough, because a step reads one copy of the plate and writes the other. In the end the first rank computes the
 * whole plate alone and compares every cell, all of which it can see.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

/* A block of the plate, with a rim of one cell around it. */
typedef struct {
    int top, left, rows, columns; /* where it lies in the plate, without the rim */
    double *cells[2];             /* this step's cells and the next one's */
} Block;

static double *cell(const Block *block, int copy, int row, int column)
{
    return block->cells[copy] + (row + 1) * (block->columns + 2) + column + 1;
}

static size_t cells_of(const Block *block)
{
    return (size_t)(block->rows + 2) * (block->columns + 2);
}

/* Which part of the plate a rank has, and the first of its cells, where this process sees them. */
static Block block_at(MPI_Comm grid, int rank, int cells, double *base)
{
    int dims[2], periods[2], own[2], place[2];
    MPI_Cart_get(grid, 2, dims, periods, own);
    MPI_Cart_coords(grid, rank, 2, place);
    Block block = {.top = cells * place[0] / dims[0], .left = cells * place[1] / dims[1]};
    block.rows = cells * (place[0] + 1) / dims[0] - block.top;
    block.columns = cells * (place[1] + 1) / dims[1] - block.left;
    block.cells[0] = base;
    block.cells[1] = base + cells_of(&block);
    return block;
}

/* The plate is cold, and the edge above it hot. */
static void heat(Block *block)
{
    for (int copy = 0; copy < 2; copy++)
        for (int row = -1; row <= block->rows; row++)
            for (int column = -1; column <= block->columns; column++)
                *cell(block, copy, row, column) = block->top + row < 0 ? 100.0 : 0.0;
}

/* From one copy to the other. */
static void advance(Block *block, int now)
{
    for (int row = 0; row < block->rows; row++)
        for (int column = 0; column < block->columns; column++) {
            double sum = *cell(block, now, row - 1, column) + *cell(block, now, row + 1, column) + *cell(block, now, row, column - 1) +
                         *cell(block, now, row, column + 1);
            *cell(block, !now, row, column) = 0.5 * *cell(block, now, row, column) + 0.125 * sum;
        }
}

/* What the others have written before is seen after it. */
static void meet(MPI_Win win, MPI_Comm comm)
{
    MPI_Win_sync(win);
    MPI_Barrier(comm);
    MPI_Win_sync(win);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int cells = argc > 1 ? atoi(argv[1]) : 96, steps = argc > 2 ? atoi(argv[2]) : 60;
    MPI_Comm here, grid;
    int rank, ranks, all, dims[2] = {0, 0}, edges[2] = {0, 0};
    MPI_Comm_size(MPI_COMM_WORLD, &all);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
    MPI_Comm_size(here, &ranks);
    MPI_Dims_create(ranks, 2, dims);
    if (ranks < all || cells < dims[0] || cells < dims[1]) {
        fprintf(stderr, "%d x %d cells on %d of %d ranks that share memory, expected all of them and a cell for each\n", cells, cells, ranks, all);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Cart_create(here, 2, dims, edges, 0, &grid);
    MPI_Comm_rank(grid, &rank);

    Block own = block_at(grid, rank, cells, NULL);
    double *base;
    MPI_Win win;
    MPI_Win_allocate_shared(2 * cells_of(&own) * sizeof(double), sizeof(double), MPI_INFO_NULL, grid, &base, &win);
    own = block_at(grid, rank, cells, base);

    /* The neighbours above, below, on the left and on the right, where this process sees them. */
    int beside[4];
    Block near[4];
    MPI_Cart_shift(grid, 0, 1, &beside[0], &beside[1]);
    MPI_Cart_shift(grid, 1, 1, &beside[2], &beside[3]);
    for (int i = 0; i < 4; i++) {
        MPI_Aint bytes;
        int unit;
        if (beside[i] == MPI_PROC_NULL) continue;
        MPI_Win_shared_query(win, beside[i], &bytes, &unit, &base);
        near[i] = block_at(grid, beside[i], cells, base);
    }

    MPI_Win_lock_all(MPI_MODE_NOCHECK, win); /* one epoch for all: loads and stores, set in order by `meet` */
    heat(&own);
    for (int step = 0; step < steps; step++) {
        int now = step % 2;
        meet(win, grid);
        for (int column = 0; column < own.columns; column++) {
            if (beside[0] != MPI_PROC_NULL) *cell(&own, now, -1, column) = *cell(&near[0], now, near[0].rows - 1, column);
            if (beside[1] != MPI_PROC_NULL) *cell(&own, now, own.rows, column) = *cell(&near[1], now, 0, column);
        }
        for (int row = 0; row < own.rows; row++) {
            if (beside[2] != MPI_PROC_NULL) *cell(&own, now, row, -1) = *cell(&near[2], now, row, near[2].columns - 1);
            if (beside[3] != MPI_PROC_NULL) *cell(&own, now, row, own.columns) = *cell(&near[3], now, row, 0);
        }
        advance(&own, now);
    }
    meet(win, grid);

    int failed = 0;
    if (rank == 0) {
        Block plate = {.rows = cells, .columns = cells};
        plate.cells[0] = malloc(2 * cells_of(&plate) * sizeof(double));
        plate.cells[1] = plate.cells[0] + cells_of(&plate);
        heat(&plate);
        for (int step = 0; step < steps; step++) advance(&plate, step % 2);
        double sum = 0;
        int wrong = 0, last = steps % 2;
        for (int other = 0; other < ranks; other++) {
            MPI_Aint bytes;
            int unit;
            MPI_Win_shared_query(win, other, &bytes, &unit, &base);
            Block block = block_at(grid, other, cells, base);
            for (int row = 0; row < block.rows; row++)
                for (int column = 0; column < block.columns; column++)
                    wrong += *cell(&block, last, row, column) != *cell(&plate, last, block.top + row, block.left + column);
        }
        for (int row = 0; row < cells; row++)
            for (int column = 0; column < cells; column++) sum += *cell(&plate, last, row, column);
        printf("%d x %d cells after %d steps: heat %.6f, %d cells differ from those of one rank alone\n", cells, cells, steps, sum, wrong);
        failed = wrong != 0;
        free(plate.cells[0]);
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Comm_free(&grid);
    MPI_Comm_free(&here);
    MPI_Finalize();
    return failed;
}
