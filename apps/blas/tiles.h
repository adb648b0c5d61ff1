/* Blocks of operands in a rank's memory: fetched by the back end, and packed into the panels that the micro-kernel reads.
 *
 * Symmetric and triangular matrices have their lower half stored; nothing above the diagonal is ever used. Blocks of symmetric ones are squares
 * on one grid, so that a block lies below, above or on the diagonal: one above it is the transpose of one below.                 */
#ifndef APPS_BLAS_TILES_H
#define APPS_BLAS_TILES_H

#include "../common/microkernel.h"
#include "backend_mpi.h"

typedef enum { GENERAL, SYMMETRIC, TRIANGULAR } Form;

/* A matrix that is read, row by row in memory. */
typedef struct {
    const char *data;
    int rows, columns; /* as it lies in memory */
    Form form;
    bool transposed;
} Operand;

/* A block of an operand. */
typedef struct {
    int rows, columns; /* as the product sees it */
    int diagonal;      /* its column in the first row of the block */
    Form form;
    const char *data;
    size_t row;   /* elements from a row to the next, in memory */
    bool flipped; /* rows of the block are columns in memory */
    bool moves;
    DmaEvent event;
} Tile;

static inline int least(int a, int b) { return a < b ? a : b; }

static inline int rounded_up(int number, int multiple) { return (number + multiple - 1) / multiple * multiple; }

/* Begins to fetch the block of at most rows x columns at a place; one that lies in the rank's own memory is used where it is. */
static inline Tile tile_begin(Dma *dma, const Real *real, const Operand *operand, int row, int column, int rows, int columns, char *buffer)
{
    Tile tile = {.rows = least(rows, (operand->transposed ? operand->columns : operand->rows) - row),
                 .columns = least(columns, (operand->transposed ? operand->rows : operand->columns) - column),
                 .diagonal = row - column,
                 .form = operand->form,
                 .flipped = operand->transposed || (operand->form == SYMMETRIC && column > row)};
    int y = tile.flipped ? column : row, x = tile.flipped ? row : column;
    int height = tile.flipped ? tile.columns : tile.rows, width = tile.flipped ? tile.rows : tile.columns;
    tile.moves = dma_in_global_memory(dma, operand->data);
    if (tile.moves) {
        Point2d there = {.x = x, .y = y, .width = operand->columns, .height = operand->rows}, here = {.width = width, .height = height};
        dma_get2d(dma, operand->data, buffer, there, here, real->bytes, width, height, &tile.event);
        tile.data = buffer;
        tile.row = (size_t)width;
    } else {
        tile.data = operand->data + ((size_t)y * (size_t)operand->columns + (size_t)x) * real->bytes;
        tile.row = (size_t)operand->columns;
    }
    return tile;
}

static inline void tile_wait(Dma *dma, Tile *tile)
{
    if (tile->moves) dma_wait(dma, &tile->event);
    tile->moves = false;
}

/* An element of the block; zero beyond its edges. */
static inline double tile_at(const Tile *tile, const Real *real, int row, int column)
{
    if (row >= tile->rows || column >= tile->columns) return 0;
    bool above = column > row + tile->diagonal;
    if (above && tile->form == TRIANGULAR) return 0;
    bool mirrored = above && tile->form == SYMMETRIC && tile->diagonal == 0;
    bool swapped = tile->flipped != mirrored;
    size_t y = (size_t)(swapped ? column : row), x = (size_t)(swapped ? row : column);
    return real_load(real, tile->data, y * tile->row + x);
}

/* Panels of as many rows as the micro-kernel has, each with its columns one after the other. Returns the bytes. */
static inline size_t pack_left(const Tile *tile, const Real *real, char *packed)
{
    size_t index = 0;
    for (int panel = 0; panel < tile->rows; panel += real->rows)
        for (int k = 0; k < tile->columns; k++)
            for (int i = 0; i < real->rows; i++) real_store(real, packed, index++, tile_at(tile, real, panel + i, k));
    return index * real->bytes;
}

/* Panels of as many columns as the micro-kernel has, each with its rows one after the other. Returns the bytes. */
static inline size_t pack_right(const Tile *tile, const Real *real, char *packed)
{
    size_t index = 0;
    for (int panel = 0; panel < tile->columns; panel += real->columns)
        for (int k = 0; k < tile->rows; k++)
            for (int j = 0; j < real->columns; j++) real_store(real, packed, index++, tile_at(tile, real, k, panel + j));
    return index * real->bytes;
}

#endif
