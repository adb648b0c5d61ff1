/* A panel: one block column, factored by the process column that owns it, with what the others need to go on.
 *
 * The pivots of a column are found and its rows swapped in one exchange between the ranks of the process column, as HPL does: a
 * message holds the largest element found so far, the row it stands in, and the row that it will change places with. After it
 * everybody has the pivot row, so that the triangular top of the panel is known to each process row without a further message.
 *
 * Layout of the message that is broadcast along the process rows: pivots (as doubles), top (width x width), below.  */
#ifndef HPL_PANEL_H
#define HPL_PANEL_H

#include <string.h>

#include "blas.h"
#include "grid.h"
#include "matrix.h"

typedef struct {
    int first, width; /* global columns */
    int owner_row, owner_column;
    int begin;             /* my first local row at or below the diagonal block, */
    int below, rows_below; /* and below it, and how many those are */
    double *message;       /* room for the largest panel */
    double *pivots, *top, *l;
    size_t length; /* of the message, in doubles */
} Panel;

static inline Panel panel_make(const Matrix *matrix)
{
    size_t width = (size_t)matrix->block;
    return (Panel){.message = room(width + width * width + (size_t)matrix->ld * width, sizeof(double))};
}

static inline void panel_free(Panel *panel) { free(panel->message); }

/* Makes it the panel of block column `block`. */
static inline void panel_describe(Panel *panel, const Grid *grid, const Matrix *matrix, int block)
{
    panel->first = block * matrix->block;
    panel->width = matrix->n - panel->first < matrix->block ? matrix->n - panel->first : matrix->block;
    panel->owner_row = block % grid->rows;
    panel->owner_column = block % grid->columns;
    panel->begin = local_before(panel->first, matrix->block, grid->row, grid->rows);
    panel->below = local_before(panel->first + panel->width, matrix->block, grid->row, grid->rows);
    panel->rows_below = matrix->rows - panel->below;
    size_t width = (size_t)panel->width;
    panel->pivots = panel->message;
    panel->top = panel->pivots + width;
    panel->l = panel->top + width * width;
    panel->length = width + width * width + width * (size_t)panel->rows_below;
}

/* The candidate for a pivot, as a message of 3 + 2 x width doubles. */
typedef struct {
    double *words;
    int width;
} Candidate;

static inline double *candidate_value(Candidate c) { return c.words; }
static inline double *candidate_row(Candidate c) { return c.words + 1; }         /* global number of the row */
static inline double *candidate_has_current(Candidate c) { return c.words + 2; } /* whether the row to be replaced is in it */
static inline double *candidate_elements(Candidate c) { return c.words + 3; }
static inline double *candidate_current(Candidate c) { return c.words + 3 + c.width; }
static inline int candidate_length(Candidate c) { return 3 + 2 * c.width; }

static inline void candidate_merge(Candidate mine, Candidate other)
{
    double ours = fabs(*candidate_value(mine)), theirs = fabs(*candidate_value(other));
    if (theirs > ours || (theirs == ours && *candidate_row(other) < *candidate_row(mine))) {
        *candidate_value(mine) = *candidate_value(other);
        *candidate_row(mine) = *candidate_row(other);
        memcpy(candidate_elements(mine), candidate_elements(other), (size_t)mine.width * sizeof(double));
    }
    if (*candidate_has_current(other) != 0) {
        *candidate_has_current(mine) = 1;
        memcpy(candidate_current(mine), candidate_current(other), (size_t)mine.width * sizeof(double));
    }
}

/* All ranks of the process column come to the same candidate, by exchange in pairs at doubling distances. Where their number
 * is no power of two, the ranks beyond it hand theirs to a partner first and get the result from it afterwards. */
static inline void candidate_agree(const Grid *grid, Candidate mine, Candidate other)
{
    enum { TAG = 3 };
    int pairs = 1, length = candidate_length(mine);
    while (pairs * 2 <= grid->rows) pairs *= 2;
    if (grid->row >= pairs) {
        MPI_Send(mine.words, length, MPI_DOUBLE, grid->row - pairs, TAG, grid->along_column);
        MPI_Recv(mine.words, length, MPI_DOUBLE, grid->row - pairs, TAG, grid->along_column, MPI_STATUS_IGNORE);
        return;
    }
    bool has_guest = grid->row + pairs < grid->rows;
    if (has_guest) {
        MPI_Recv(other.words, length, MPI_DOUBLE, grid->row + pairs, TAG, grid->along_column, MPI_STATUS_IGNORE);
        candidate_merge(mine, other);
    }
    for (int distance = 1; distance < pairs; distance *= 2) {
        int partner = grid->row ^ distance;
        MPI_Sendrecv(mine.words, length, MPI_DOUBLE, partner, TAG, other.words, length, MPI_DOUBLE, partner, TAG,
                     grid->along_column, MPI_STATUS_IGNORE);
        candidate_merge(mine, other);
    }
    if (has_guest) MPI_Send(mine.words, length, MPI_DOUBLE, grid->row + pairs, TAG, grid->along_column);
}

static inline void copy_row_out(const double *from, int ld, double *row, int count)
{
    for (int i = 0; i < count; i++) row[i] = from[(size_t)i * (size_t)ld];
    declare_copy((int64_t)count * (int64_t)sizeof *row);
}

static inline void copy_row_in(double *to, int ld, const double *row, int count)
{
    for (int i = 0; i < count; i++) to[(size_t)i * (size_t)ld] = row[i];
    declare_copy((int64_t)count * (int64_t)sizeof *row);
}

/* Finds the pivot of column `step`, swaps the rows of the panel, and leaves the pivot row in the panel's top. */
static inline void choose_pivot(Panel *panel, const Grid *grid, const Matrix *matrix, double *columns, int step, Candidate mine,
                                Candidate other)
{
    int diagonal = panel->first + step, ld = matrix->ld;
    int from = local_before(diagonal, matrix->block, grid->row, grid->rows); /* rows that may be pivot */
    int best = idamax(matrix->rows - from, columns + (size_t)step * (size_t)ld + from);

    *candidate_value(mine) = 0;
    *candidate_row(mine) = matrix->n;
    *candidate_has_current(mine) = grid->row == panel->owner_row;
    if (best >= 0) {
        *candidate_value(mine) = *element(columns, from + best, step, ld);
        *candidate_row(mine) = global_of(from + best, matrix->block, grid->row, grid->rows);
        copy_row_out(columns + from + best, ld, candidate_elements(mine), panel->width);
    }
    if (grid->row == panel->owner_row) copy_row_out(columns + from, ld, candidate_current(mine), panel->width);
    candidate_agree(grid, mine, other);

    int pivot = (int)*candidate_row(mine);
    if (*candidate_value(mine) == 0) {
        fprintf(stderr, "hpl: column %d has no pivot, the matrix is singular\n", diagonal);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    panel->pivots[step] = pivot;
    copy_row_in(panel->top + step, panel->width, candidate_elements(mine), panel->width);
    if (pivot / matrix->block % grid->rows == grid->row)
        copy_row_in(columns + local_before(pivot, matrix->block, grid->row, grid->rows), ld, candidate_current(mine),
                    panel->width);
    if (grid->row == panel->owner_row) copy_row_in(columns + from, ld, candidate_elements(mine), panel->width);
}

/* By the process column that owns it: factors the panel in the matrix and fills the message. */
static inline void panel_factor(Panel *panel, const Grid *grid, Matrix *matrix)
{
    int ld = matrix->ld, width = panel->width;
    double *columns = element(matrix->values, 0, local_before(panel->first, matrix->block, grid->column, grid->columns), ld);
    Candidate mine = {.width = width}, other = {.width = width};
    mine.words = room((size_t)candidate_length(mine), sizeof(double));
    other.words = room((size_t)candidate_length(other), sizeof(double));
    for (int step = 0; step < width; step++) {
        choose_pivot(panel, grid, matrix, columns, step, mine, other);
        int after = local_before(panel->first + step + 1, matrix->block, grid->row, grid->rows), rest = matrix->rows - after;
        double *multipliers = element(columns, after, step, ld);
        dscal(rest, 1 / *candidate_value(mine), multipliers);
        dger_subtract(rest, width - step - 1, multipliers, candidate_elements(mine) + step + 1, 1,
                      element(columns, after, step + 1, ld), ld);
    }
    for (int column = 0; column < width; column++)
        memcpy(panel->l + (size_t)column * (size_t)panel->rows_below, element(columns, panel->below, column, ld),
               (size_t)panel->rows_below * sizeof(double));
    declare_copy((int64_t)panel->rows_below * width * (int64_t)sizeof(double));
    free(mine.words);
    free(other.words);
}

#endif
