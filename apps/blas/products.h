/* C = beta C + sums of products of blocks, the one algorithm under all six routines.
 *
 * A task is a block of C. Its blocks of the left and right operand come in pairs, the next pair while one is multiplied, and the blocks of C
 * in turn: the next is fetched while one gains and the one before is put. A task of a solving product needs the result of the one
 * before, in the last of its pairs, which are not fetched before that has been put.                                           */
#ifndef APPS_BLAS_PRODUCTS_H
#define APPS_BLAS_PRODUCTS_H

#include "tiles.h"

/* Sizes of blocks, as BLIS names them: C has mc x nc, the common dimension kc. */
typedef struct {
    int mc, nc, kc;
} Blocking;

typedef struct {
    Operand left, right;
} Term;

typedef struct {
    char *c; /* rows x columns in the large memory */
    int rows, columns;
    double alpha, beta;
    Term terms[2];
    int term_count, depth; /* products, and their common dimension */
    bool lower;            /* only that half of C is computed and changed */
    bool in_place;         /* C is the right operand, too; tasks of a column follow each other so that none reads what it should not */
    bool solves;           /* by the left operand, which is triangular: its diagonal blocks end a task */
} Product;

/* A block of C. */
typedef struct {
    int row, column;
} Task;

/* A rank's buffers: two blocks of each operand, three of C, the packed panels, and the block of C as it was. */
typedef struct {
    Dma *dma;
    const Real *real;
    Blocking blocking;
    int cores;
    int c_rows, c_columns; /* of a block of C in memory: whole tiles of the micro-kernel */
    char *left[2], *right[2], *c[3], *packed_left, *packed_right, *kept;
} Workshop;

enum { BUFFERS = 10 };

/* Elements of each buffer of a workshop. */
static inline void buffer_elements(const Real *real, Blocking blocking, size_t elements[BUFFERS])
{
    size_t rows = (size_t)rounded_up(blocking.mc, real->rows), columns = (size_t)rounded_up(blocking.nc, real->columns);
    size_t depth = (size_t)blocking.kc, left = rows * depth, right = depth * columns, c = rows * columns;
    const size_t all[BUFFERS] = {left, left, right, right, c, c, c, left, right, c};
    for (int i = 0; i < BUFFERS; i++) elements[i] = all[i];
}

static inline Workshop workshop_open(Dma *dma, const Real *real, Blocking blocking, int cores)
{
    Workshop workshop = {.dma = dma, .real = real, .blocking = blocking, .cores = cores};
    workshop.c_rows = rounded_up(blocking.mc, real->rows);
    workshop.c_columns = rounded_up(blocking.nc, real->columns);
    char **buffers[BUFFERS] = {&workshop.left[0], &workshop.left[1], &workshop.right[0],     &workshop.right[1],     &workshop.c[0],
                               &workshop.c[1],    &workshop.c[2],    &workshop.packed_left, &workshop.packed_right, &workshop.kept};
    size_t elements[BUFFERS];
    buffer_elements(real, blocking, elements);
    for (int i = 0; i < BUFFERS; i++) *buffers[i] = room(elements[i], real->bytes);
    return workshop;
}

static inline void workshop_close(Workshop *workshop)
{
    char *buffers[BUFFERS] = {workshop->left[0], workshop->left[1], workshop->right[0],    workshop->right[1],    workshop->c[0],
                              workshop->c[1],    workshop->c[2],    workshop->packed_left, workshop->packed_right, workshop->kept};
    for (int i = 0; i < BUFFERS; i++) free(buffers[i]);
}

/* Blocks of symmetric matrices are squares: kc shrinks to mc ("lower squarisation" in the thesis). */
static inline int depth_of_block(const Workshop *workshop, const Product *product)
{
    return product->terms[0].left.form == SYMMETRIC ? workshop->blocking.mc : workshop->blocking.kc;
}

/* The common dimension of a task. A triangular operand has nothing behind its diagonal, and a solving task does not multiply by that. */
static inline int depth_of_task(const Workshop *workshop, const Product *product, Task task)
{
    if (product->solves) return task.row;
    return product->terms[0].left.form == TRIANGULAR ? least(product->depth, task.row + workshop->blocking.mc) : product->depth;
}

/* Pairs of blocks of a task. */
static inline int pairs_of(const Workshop *workshop, const Product *product, Task task)
{
    int depth = depth_of_task(workshop, product, task), block = depth_of_block(workshop, product);
    return product->term_count * ((depth + block - 1) / block);
}

/* Whether a pair of a task has rows that the task before computes, which are those right above its own. */
static inline bool needs_result(const Workshop *workshop, const Product *product, Task task, int pair)
{
    return product->solves && (pair + 1) * depth_of_block(workshop, product) > task.row - workshop->blocking.mc;
}

static inline void begin_pair(Workshop *workshop, const Product *product, Task task, int pair, int slot, Tile tiles[2])
{
    int block = depth_of_block(workshop, product), blocks = pairs_of(workshop, product, task) / product->term_count;
    const Term *term = &product->terms[pair / blocks];
    int k = pair % blocks * block, depth = least(block, depth_of_task(workshop, product, task) - k);
    tiles[0] = tile_begin(workshop->dma, workshop->real, &term->left, task.row, k, workshop->blocking.mc, depth, workshop->left[slot]);
    tiles[1] = tile_begin(workshop->dma, workshop->real, &term->right, k, task.column, depth, workshop->blocking.nc, workshop->right[slot]);
}

static inline void multiply(Workshop *workshop, double factor, Tile tiles[2], char *c)
{
    const Real *real = workshop->real;
    for (int i = 0; i < 2; i++) tile_wait(workshop->dma, &tiles[i]);
    int depth = tiles[0].columns, rows = rounded_up(tiles[0].rows, real->rows), columns = rounded_up(tiles[1].columns, real->columns);
    size_t packed = pack_left(&tiles[0], real, workshop->packed_left) + pack_right(&tiles[1], real, workshop->packed_right);
    declare_copy((int64_t)packed / workshop->cores);
    for (int i = 0; i < rows; i += real->rows)
        for (int j = 0; j < columns; j += real->columns)
            real->kernel(depth, factor, workshop->packed_left + (size_t)i * (size_t)depth * real->bytes, real->rows,
                         workshop->packed_right + (size_t)j * (size_t)depth * real->bytes, real->columns,
                         c + ((size_t)i * (size_t)workshop->c_columns + (size_t)j) * real->bytes, workshop->c_columns);
    declare_steps((int64_t)(rows / real->rows) * (columns / real->columns) * depth, workshop->cores);
}

/* A block of C: what of it there is, where it lies there and here. */
typedef struct {
    int rows, columns;
    Point2d there, here;
} Block;

static inline Block block_of(const Workshop *workshop, const Product *product, Task task)
{
    return (Block){
        .rows = least(workshop->blocking.mc, product->rows - task.row),
        .columns = least(workshop->blocking.nc, product->columns - task.column),
        .there = {.x = task.column, .y = task.row, .width = product->columns, .height = product->rows},
        .here = {.width = workshop->c_columns, .height = workshop->c_rows},
    };
}

static inline void begin_c(Workshop *workshop, const Product *product, Task task, int slot, DmaEvent *event)
{
    if (product->beta == 0) return; /* what is there does not count */
    Block block = block_of(workshop, product, task);
    dma_get2d(workshop->dma, product->c, workshop->c[slot], block.there, block.here, workshop->real->bytes, block.columns, block.rows, event);
}

static inline void scale(const Workshop *workshop, double factor, char *c)
{
    for (size_t i = 0; i < (size_t)workshop->c_rows * (size_t)workshop->c_columns; i++)
        real_store(workshop->real, c, i, factor == 0 ? 0 : factor * real_load(workshop->real, c, i));
}

/* What lies above the diagonal of C is as it was. */
static inline void restore_upper(const Workshop *workshop, Task task, Block block, char *c)
{
    for (int i = 0; i < block.rows; i++)
        for (int j = 0; j < block.columns; j++) {
            size_t index = (size_t)i * (size_t)workshop->c_columns + (size_t)j;
            if (task.column + j > task.row + i) real_store(workshop->real, c, index, real_load(workshop->real, workshop->kept, index));
        }
}

/* Forward substitution by a diagonal block, which comes into the room of the packed panels: the next pair may be on its way into the others.
 * Its multiply-adds are declared at the micro-kernel's rate.                                                               */
static inline void solve(Workshop *workshop, const Product *product, Task task, Block block, char *c)
{
    const Real *real = workshop->real;
    int edge = workshop->blocking.mc, columns = workshop->c_columns;
    Tile tile = tile_begin(workshop->dma, real, &product->terms[0].left, task.row, task.row, edge, edge, workshop->packed_left);
    tile_wait(workshop->dma, &tile);
    for (int i = 0; i < block.rows; i++)
        for (int j = 0; j < block.columns; j++) {
            double value = real_load(real, c, (size_t)(i * columns + j));
            for (int k = 0; k < i; k++) value -= tile_at(&tile, real, i, k) * real_load(real, c, (size_t)(k * columns + j));
            real_store(real, c, (size_t)(i * columns + j), value / tile_at(&tile, real, i, i));
        }
    declare_steps((int64_t)block.rows * block.rows * block.columns / (2 * real->rows * real->columns), workshop->cores);
}

/* All tasks of this rank, one after the other. */
static inline void product_run(Workshop *workshop, const Product *product, const Task *tasks, int count)
{
    Dma *dma = workshop->dma;
    Tile pairs[2][2];
    DmaEvent gets[3], puts[3];
    size_t c_bytes = (size_t)workshop->c_rows * (size_t)workshop->c_columns * workshop->real->bytes;
    bool begun = false; /* the first pair of this task, by the task before */
    if (count > 0) begin_c(workshop, product, tasks[0], 0, &gets[0]);
    for (int t = 0, slot = 0; t < count; t++) {
        Task task = tasks[t];
        Block block = block_of(workshop, product, task);
        char *c = workshop->c[t % 3];
        int all = pairs_of(workshop, product, task), all_next = t + 1 < count ? pairs_of(workshop, product, tasks[t + 1]) : 0;
        if (t > 0 && !begun && all > 0 && needs_result(workshop, product, task, 0)) dma_wait(dma, &puts[(t - 1) % 3]);
        if (!begun && all > 0) begin_pair(workshop, product, task, 0, slot, pairs[slot]);
        if (t >= 2) dma_wait(dma, &puts[(t + 1) % 3]);
        if (t + 1 < count) begin_c(workshop, product, tasks[t + 1], (t + 1) % 3, &gets[(t + 1) % 3]);
        if (product->beta != 0) dma_wait(dma, &gets[t % 3]);
        if (product->lower) memcpy(workshop->kept, c, c_bytes);
        scale(workshop, product->beta, c);
        begun = all > 0 && all_next > 0 && !needs_result(workshop, product, tasks[t + 1], 0);
        for (int pair = 0; pair < all; pair++, slot = 1 - slot) {
            if (pair + 1 < all) {
                if (needs_result(workshop, product, task, pair + 1)) dma_wait(dma, &puts[(t - 1) % 3]);
                begin_pair(workshop, product, task, pair + 1, 1 - slot, pairs[1 - slot]);
            } else if (begun) {
                begin_pair(workshop, product, tasks[t + 1], 0, 1 - slot, pairs[1 - slot]);
            }
            multiply(workshop, product->alpha, pairs[slot], c);
        }
        if (product->solves) solve(workshop, product, task, block, c);
        if (product->lower) restore_upper(workshop, task, block, c);
        dma_put2d(dma, c, product->c, block.there, block.here, workshop->real->bytes, block.columns, block.rows, &puts[t % 3]);
    }
    for (int t = count > 1 ? count - 2 : 0; t < count; t++) dma_wait(dma, &puts[t % 3]);
}

#endif
