/* Back substitution, and the residual of its solution as HPL defines it. */
#ifndef HPL_SOLVE_H
#define HPL_SOLVE_H

#include <float.h>

#include "blas.h"
#include "grid.h"
#include "matrix.h"

/* Solves U x = y, from the last block to the first. Each rank keeps, for its rows, what its own columns have contributed to the
 * right side so far; the ranks of a process row add these up for a block when its turn comes, the owner of the diagonal
 * block solves it, and its process column takes the solution off the rows above. Afterwards x holds, on each rank, the
 * blocks of its process column, and zeroes elsewhere. */
static inline void back_substitute(const Grid *grid, Matrix *matrix, double *x)
{
    int n = matrix->n, block = matrix->block, ld = matrix->ld;
    double *rest = room((size_t)ld, sizeof *rest), *sums = room((size_t)block, sizeof *sums);
    if (n / block % grid->columns == grid->column)
        memcpy(rest, element(matrix->values, 0, local_before(n, block, grid->column, grid->columns), ld),
               (size_t)matrix->rows * sizeof *rest);
    memset(x, 0, (size_t)n * sizeof *x);
    for (int b = (n - 1) / block; b >= 0; b--) {
        int first = b * block, width = n - first < block ? n - first : block;
        int owner_row = b % grid->rows, owner_column = b % grid->columns;
        int row = local_before(first, block, grid->row, grid->rows);
        int column = local_before(first, block, grid->column, grid->columns);
        if (grid->row == owner_row)
            MPI_Reduce(rest + row, sums, width, MPI_DOUBLE, MPI_SUM, owner_column, grid->along_row);
        if (grid->column != owner_column) continue;
        if (grid->row == owner_row) {
            dtrsv_upper(width, element(matrix->values, row, column, ld), ld, sums);
            memcpy(x + first, sums, (size_t)width * sizeof *x);
        }
        MPI_Bcast(x + first, width, MPI_DOUBLE, owner_row, grid->along_column);
        dgemv_subtract(row, width, element(matrix->values, 0, column, ld), ld, x + first, rest);
    }
    free(rest);
    free(sums);
}

typedef struct {
    double residual, a, x, b; /* infinity norms of A x - b, A, x and b */
} Norms;

/* The larger of a norm so far and an element's absolute value. What is no number counts as infinite, so that it cannot pass. */
static inline double norm_with(double norm, double value)
{
    double magnitude = isfinite(value) ? fabs(value) : INFINITY;
    return magnitude > norm ? magnitude : norm;
}

/* From the elements as they were before the factorisation. */
static inline Norms norms_of(const Grid *grid, const Matrix *matrix, const double *blocks_of_x)
{
    int n = matrix->n, rows = matrix->rows;
    double *x = room((size_t)n, sizeof *x);
    MPI_Allreduce(blocks_of_x, x, n, MPI_DOUBLE, MPI_SUM, grid->along_row);

    /* For each row of mine: A x - b, the sum of absolute values, b; as far as my columns go. */
    double *mine = room(3 * (size_t)rows, sizeof *mine), *whole = room(3 * (size_t)rows, sizeof *whole);
    for (int column = 0; column < matrix->columns; column++) {
        int j = global_of(column, matrix->block, grid->column, grid->columns);
        for (int row = 0; row < rows; row++) {
            double value = original_element(matrix, global_of(row, matrix->block, grid->row, grid->rows), j);
            mine[row] += j < n ? value * x[j] : -value;
            mine[rows + row] += j < n ? fabs(value) : 0;
            mine[2 * rows + row] += j < n ? 0 : value;
        }
    }
    MPI_Allreduce(mine, whole, 3 * rows, MPI_DOUBLE, MPI_SUM, grid->along_row);
    Norms norms = {0}, largest;
    for (int row = 0; row < rows; row++) {
        norms.residual = norm_with(norms.residual, whole[row]);
        norms.a = norm_with(norms.a, whole[rows + row]);
        norms.b = norm_with(norms.b, whole[2 * rows + row]);
    }
    for (int j = 0; j < n; j++) norms.x = norm_with(norms.x, x[j]);
    MPI_Allreduce(&norms, &largest, 4, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    free(x);
    free(mine);
    free(whole);
    return largest;
}

/* HPL's scaled residual; a solution passes below 16. */
static inline double scaled_residual(const Norms *norms, int n)
{
    double epsilon = DBL_EPSILON / 2;
    return norms->residual / (epsilon * (norms->a * norms->x + norms->b) * n);
}

#endif
