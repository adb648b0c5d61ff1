/* The P x Q grid of ranks and the block-cyclic distribution over it.
 *
 * Rank r stands in row r / Q and column r % Q. Block b of rows belongs to process row b % P, block b of columns to process
 * column b % Q; within a rank the blocks it owns lie one after the other.                                        */
#ifndef HPL_GRID_H
#define HPL_GRID_H

#include <mpi.h>

typedef struct {
    int rows, columns;     /* P and Q */
    int row, column;       /* mine */
    MPI_Comm along_row;    /* the Q ranks of my row, ranked by column */
    MPI_Comm along_column; /* the P ranks of my column, ranked by row */
} Grid;

static inline Grid grid_make(int rows, int columns)
{
    Grid grid = {.rows = rows, .columns = columns};
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    grid.row = rank / columns;
    grid.column = rank % columns;
    MPI_Comm_split(MPI_COMM_WORLD, grid.row, grid.column, &grid.along_row);
    MPI_Comm_split(MPI_COMM_WORLD, grid.column, grid.row, &grid.along_column);
    return grid;
}

static inline void grid_free(Grid *grid)
{
    MPI_Comm_free(&grid->along_row);
    MPI_Comm_free(&grid->along_column);
}

/* How many of the first `global` rows or columns belong to place `at` of `places`: also the local index of row or column
 * `global` where it is owned, and of the first one after it elsewhere. */
static inline int local_before(int global, int block, int at, int places)
{
    int whole = global / block, count = whole / places * block;
    if (at < whole % places) count += block;
    if (at == whole % places) count += global % block;
    return count;
}

/* The global index of a local row or column. */
static inline int global_of(int local, int block, int at, int places)
{
    return (local / block * places + at) * block + local % block;
}

#endif
