/* The update of the trailing matrix by a panel: rows swapped, the block row U solved and the rest multiplied.
 *
 * U is put together by the process row that owns the diagonal block and then broadcast along the process columns, so that each
 * rank solves it for itself and has it at hand for its own product.                                              */
#ifndef HPL_UPDATE_H
#define HPL_UPDATE_H

#include "broadcast.h"
#include "swap.h"

typedef struct {
    Panel *panel;
    const Grid *grid;
    Matrix *matrix;
    int begin, count; /* local columns */
    double *u;        /* width x count */
} Update;

static inline int row_owner(const Update *update, int global) { return global / update->matrix->block % update->grid->rows; }

static inline double *local_row(const Update *update, int global)
{
    const Matrix *matrix = update->matrix;
    int row = local_before(global, matrix->block, update->grid->row, update->grid->rows);
    return element(matrix->values, row, update->begin, matrix->ld);
}

/* Moves that concern process row `row`, packed from or unpacked into rows of a message. */
static inline int pack_up(const Update *update, const Swaps *swaps, int row, double *message)
{
    int packed = 0;
    for (int i = 0; i < swaps->ups; i++)
        if (row_owner(update, swaps->up[i].global) == row)
            copy_row_out(local_row(update, swaps->up[i].global), update->matrix->ld,
                         message + (size_t)packed++ * (size_t)update->count, update->count);
    return packed;
}

static inline void unpack_up(const Update *update, const Swaps *swaps, int row, const double *message)
{
    int unpacked = 0;
    for (int i = 0; i < swaps->ups; i++)
        if (row_owner(update, swaps->up[i].global) == row)
            copy_row_in(update->u + swaps->up[i].slot, update->panel->width,
                        message + (size_t)unpacked++ * (size_t)update->count, update->count);
}

static inline int pack_down(const Update *update, const Swaps *swaps, int row, double *message)
{
    int packed = 0;
    for (int i = 0; i < swaps->downs; i++)
        if (row_owner(update, swaps->down[i].global) == row)
            copy_row_out(local_row(update, update->panel->first + swaps->down[i].slot), update->matrix->ld,
                         message + (size_t)packed++ * (size_t)update->count, update->count);
    return packed;
}

static inline void unpack_down(const Update *update, const Swaps *swaps, int row, const double *message)
{
    int unpacked = 0;
    for (int i = 0; i < swaps->downs; i++)
        if (row_owner(update, swaps->down[i].global) == row)
            copy_row_in(local_row(update, swaps->down[i].global), update->matrix->ld,
                        message + (size_t)unpacked++ * (size_t)update->count, update->count);
}

static inline void exchange_rows(const Update *update, int rows, const double *out, double *in, int partner)
{
    enum { TAG = 4 };
    int length = rows * update->count;
    MPI_Sendrecv(out, length, MPI_DOUBLE, partner, TAG, in, length, MPI_DOUBLE, partner, TAG, update->grid->along_column,
                 MPI_STATUS_IGNORE);
}

/* By the owner of the top rows: gives away and collects rows, and has U afterwards. Top rows are read until the last exchange
 * and written only when U goes back into the matrix, so that their order does not matter. */
static inline void collect_u(const Update *update, const Swaps *swaps, double *out, double *in)
{
    for (int slot = 0; slot < update->panel->width; slot++) {
        if (swaps->from_top[slot] < 0) continue;
        copy_row_out(local_row(update, update->panel->first + swaps->from_top[slot]), update->matrix->ld, out, update->count);
        copy_row_in(update->u + slot, update->panel->width, out, update->count);
    }
    for (int row = 0; row < update->grid->rows; row++) {
        bool mine = row == update->grid->row;
        int rows = pack_down(update, swaps, row, out);
        if (mine) {
            pack_up(update, swaps, row, in);
            unpack_down(update, swaps, row, out);
        } else if (rows > 0) {
            exchange_rows(update, rows, out, in, row);
        }
        unpack_up(update, swaps, row, in);
    }
}

static inline void apply_swaps(const Update *update)
{
    Swaps swaps = swaps_of(update->panel);
    size_t length = (size_t)update->panel->width * (size_t)update->count;
    double *out = room(length, sizeof *out), *in = room(length, sizeof *in);
    if (update->grid->row == update->panel->owner_row) {
        collect_u(update, &swaps, out, in);
    } else {
        int rows = pack_up(update, &swaps, update->grid->row, out);
        if (rows > 0) {
            exchange_rows(update, rows, out, in, update->panel->owner_row);
            unpack_down(update, &swaps, update->grid->row, in);
        }
    }
    free(out);
    free(in);
    swaps_free(&swaps);
}

static inline void store_u(const Update *update)
{
    Matrix *matrix = update->matrix;
    int width = update->panel->width;
    for (int column = 0; column < update->count; column++)
        memcpy(element(matrix->values, update->panel->begin, update->begin + column, matrix->ld),
               update->u + (size_t)column * (size_t)width, (size_t)width * sizeof *update->u);
    declare_copy((int64_t)width * update->count * (int64_t)sizeof *update->u);
}

/* Updates local columns `begin` to `end`, asking now and then for the panel that is on its way. */
static inline void update_columns(const Grid *grid, Matrix *matrix, Panel *panel, int begin, int end, Broadcast *incoming)
{
    if (begin == end) return;
    int width = panel->width;
    Update update = {.panel = panel, .grid = grid, .matrix = matrix, .begin = begin, .count = end - begin};
    update.u = room((size_t)width * (size_t)update.count, sizeof *update.u);
    apply_swaps(&update);
    broadcast_poll(incoming);
    MPI_Bcast(update.u, width * update.count, MPI_DOUBLE, panel->owner_row, grid->along_column);
    broadcast_poll(incoming);
    dtrsm_unit_lower(width, update.count, panel->top, width, update.u, width);
    if (grid->row == panel->owner_row) store_u(&update);
    for (int column = 0; column < update.count; column += matrix->block) {
        int columns = update.count - column < matrix->block ? update.count - column : matrix->block;
        broadcast_poll(incoming);
        dgemm_subtract(panel->rows_below, columns, width, panel->l, panel->rows_below,
                       update.u + (size_t)column * (size_t)width, width,
                       element(matrix->values, panel->below, begin + column, matrix->ld), matrix->ld);
    }
    free(update.u);
}

#endif
