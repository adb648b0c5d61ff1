/* The innermost part of matrix multiplication, in single and double precision: a small tile of C that stays in registers gains, step by
 * step, the product of a column of A and a row of B.
 *
 * Law of the declared work: a step of 4 x 8 multiply-adds in single precision, at 2 a cycle, or of 4 x 4 in double, at 1 a cycle, reaches 97 % of
 * that on the MPPA-256 (Ho's thesis, section 9.4.1): 16.5 cycles in both.                                                  */
#ifndef APPS_MICROKERNEL_H
#define APPS_MICROKERNEL_H

#include <mpi.h>
#include <stddef.h>

#include "compute.h"
#include "random.h"

/* c[i][j] += factor * sum over k of a[k][i] * b[k][j], for a tile of `rows` x `columns`; the strides are elements from a row to the next. */
typedef void MicroKernel(int steps, double factor, const void *a, ptrdiff_t a_row, const void *b, ptrdiff_t b_row, void *c, ptrdiff_t c_row);

#define DEFINE_MICRO_KERNEL(name, real, rows, columns)                                                                            \
    static void name(int steps, double factor, const void *a, ptrdiff_t a_row, const void *b, ptrdiff_t b_row, void *c, ptrdiff_t c_row) \
    {                                                                                                                             \
        real sums[rows][columns] = {{0}};                                                                                         \
        for (int k = 0; k < steps; k++) {                                                                                         \
            const real *column = (const real *)a + k * a_row, *row = (const real *)b + k * b_row;                                 \
            for (int i = 0; i < rows; i++)                                                                                        \
                for (int j = 0; j < columns; j++) sums[i][j] += column[i] * row[j];                                               \
        }                                                                                                                         \
        for (int i = 0; i < rows; i++)                                                                                            \
            for (int j = 0; j < columns; j++) ((real *)c)[i * c_row + j] += (real)factor * sums[i][j];                            \
    }

DEFINE_MICRO_KERNEL(micro_kernel_single, float, 4, 8)
DEFINE_MICRO_KERNEL(micro_kernel_double, double, 4, 4)

/* A precision: its elements and the tile of its micro-kernel. */
typedef struct {
    const char *name;
    size_t bytes;
    int rows, columns;
    MicroKernel *kernel;
} Real;

enum { SINGLE, DOUBLE };
#define REALS "single|double" /* as words of an option */
static const Real REAL[] = {
    [SINGLE] = {.name = "single", .bytes = sizeof(float), .rows = 4, .columns = 8, .kernel = micro_kernel_single},
    [DOUBLE] = {.name = "double", .bytes = sizeof(double), .rows = 4, .columns = 4, .kernel = micro_kernel_double},
};

static inline double real_load(const Real *real, const void *elements, size_t index)
{
    return real->bytes == sizeof(float) ? (double)((const float *)elements)[index] : ((const double *)elements)[index];
}

static inline void real_store(const Real *real, void *elements, size_t index, double value)
{
    if (real->bytes == sizeof(float)) ((float *)elements)[index] = (float)value;
    else ((double *)elements)[index] = value;
}

/* Steps of the micro-kernel, shared by the cores of a rank. */
static inline void declare_steps(int64_t steps, int cores) { declare_shared(steps * 165 / 10, cores); }

/* The element of a matrix, from its number and place: whole numbers from -4 to 4, so that sums are exact in every order of additions. */
static inline double small_number(uint64_t matrix, int row, int column)
{
    return (double)(random_at(matrix, ((uint64_t)row << 32) | (uint64_t)column) % 9) - 4;
}

#endif
