/* The system of equations: a random N x N matrix with its right side as column N, distributed in blocks of NB.
 *
 * Elements lie between -0.5 and 0.5 and can be computed again from the seed, which is how the residual is checked after the
 * factors have taken the matrix's place.                                                                          */
#ifndef HPL_MATRIX_H
#define HPL_MATRIX_H

#include "../common/random.h"
#include "../common/report.h"
#include "grid.h"

typedef struct {
    int n, block;
    uint64_t seed;
    int rows, columns; /* mine; columns with the right side */
    int ld;
    double *values;
} Matrix;

static inline double original_element(const Matrix *matrix, int row, int column)
{
    uint64_t bits = random_at(matrix->seed, (uint64_t)column * (uint64_t)matrix->n + (uint64_t)row);
    return (double)(bits >> 11) * 0x1p-53 - 0.5;
}

static inline Matrix matrix_make(const Grid *grid, int n, int block, uint64_t seed)
{
    Matrix matrix = {.n = n, .block = block, .seed = seed};
    matrix.rows = local_before(n, block, grid->row, grid->rows);
    matrix.columns = local_before(n + 1, block, grid->column, grid->columns);
    matrix.ld = matrix.rows > 0 ? matrix.rows : 1;
    matrix.values = room((size_t)matrix.ld * (size_t)matrix.columns, sizeof *matrix.values);
    for (int column = 0; column < matrix.columns; column++)
        for (int row = 0; row < matrix.rows; row++)
            matrix.values[(size_t)column * (size_t)matrix.ld + (size_t)row] =
                original_element(&matrix, global_of(row, block, grid->row, grid->rows),
                                 global_of(column, block, grid->column, grid->columns));
    return matrix;
}

static inline void matrix_free(Matrix *matrix) { free(matrix->values); }

#endif
