/* The few dense kernels that the factorisation needs, in double precision, column-major, with the leading dimension last.
 *
 * Law of the declared work: 4 cycles a floating-point operation. The machine's BLAS was the reference one, single-threaded,
 * whose kernels all come down to adding a multiple of one column to another: for each element two loads, a multiply-add (two
 * operations) and a store, on a core with one load-store unit, whose compiler cannot overlap the elements because the
 * columns might. At 8 cycles an element that is about a third of the peak of a core (70 GFLOPS for 256 cores at 400 MHz:
 * 1.5 cycles an operation). The pivot search has a load, an absolute value and a comparison an element: 3 cycles. Divisions
 * are left out: there is one a column. Of the 3 to 6 cycles that such counting allows, 4 was taken because of the published
 * 1.2 GFLOPS (see the README).                                                                                   */
#ifndef HPL_BLAS_H
#define HPL_BLAS_H

#include <math.h>
#include <stddef.h>

#include "../common/compute.h"

enum { CYCLES_PER_FLOP = 4, CYCLES_PER_COMPARISON = 3 };

/* Cores of a rank that share products of matrices and triangular solves, as the threads of a BLAS do; everything else has one core. */
static int blas_cores = 1;

static inline double *element(double *matrix, int row, int column, int ld) { return matrix + (size_t)column * (size_t)ld + row; }

/* y += factor x */
static inline void add_multiple(int count, double factor, const double *restrict x, double *restrict y)
{
    for (int i = 0; i < count; i++) y[i] += factor * x[i];
}

/* C -= A B with A of m x k and B of k x n. */
static inline void dgemm_subtract(int m, int n, int k, const double *a, int lda, const double *b, int ldb, double *c, int ldc)
{
    for (int column = 0; column < n; column++)
        for (int l = 0; l < k; l++)
            add_multiple(m, -b[(size_t)column * (size_t)ldb + (size_t)l], a + (size_t)l * (size_t)lda,
                         c + (size_t)column * (size_t)ldc);
    declare_shared((int64_t)2 * m * n * k * CYCLES_PER_FLOP, blas_cores);
}

/* B := L^-1 B with L unit lower triangular of m x m and B of m x n. */
static inline void dtrsm_unit_lower(int m, int n, const double *l, int ldl, double *b, int ldb)
{
    for (int column = 0; column < n; column++) {
        double *x = b + (size_t)column * (size_t)ldb;
        for (int k = 0; k < m; k++) add_multiple(m - k - 1, -x[k], l + (size_t)k * (size_t)ldl + k + 1, x + k + 1);
    }
    declare_shared((int64_t)m * (m - 1) * n * CYCLES_PER_FLOP, blas_cores);
}

/* x := U^-1 x with U upper triangular of m x m. */
static inline void dtrsv_upper(int m, const double *u, int ldu, double *x)
{
    for (int k = m - 1; k >= 0; k--) {
        x[k] /= u[(size_t)k * (size_t)ldu + k];
        add_multiple(k, -x[k], u + (size_t)k * (size_t)ldu, x);
    }
    declare_cycles((int64_t)m * m * CYCLES_PER_FLOP);
}

/* y -= A x with A of m x n. */
static inline void dgemv_subtract(int m, int n, const double *a, int lda, const double *x, double *y)
{
    for (int k = 0; k < n; k++) add_multiple(m, -x[k], a + (size_t)k * (size_t)lda, y);
    declare_cycles((int64_t)2 * m * n * CYCLES_PER_FLOP);
}

/* A -= x y' with A of m x n; y has a stride. */
static inline void dger_subtract(int m, int n, const double *x, const double *y, int stride, double *a, int lda)
{
    for (int column = 0; column < n; column++)
        add_multiple(m, -y[(size_t)column * (size_t)stride], x, a + (size_t)column * (size_t)lda);
    declare_cycles((int64_t)2 * m * n * CYCLES_PER_FLOP);
}

static inline void dscal(int count, double factor, double *x)
{
    for (int i = 0; i < count; i++) x[i] *= factor;
    declare_cycles((int64_t)count * CYCLES_PER_FLOP);
}

/* The place of the element with the largest absolute value, or -1 if there is none. */
static inline int idamax(int count, const double *x)
{
    int best = count > 0 ? 0 : -1;
    for (int i = 1; i < count; i++)
        if (fabs(x[i]) > fabs(x[best])) best = i;
    declare_cycles((int64_t)count * CYCLES_PER_COMPARISON);
    return best;
}

#endif
