/* The six routines of level 3 as products of blocks, and each from its definition, element by element.
 *
 *     gemm   C = alpha A B + beta C                   symm   the same, A symmetric
 *     syrk   C = alpha A A^T + beta C, lower half     syr2k  C = alpha (A B^T + B A^T) + beta C, lower half
 *     trmm   B = alpha A B, A lower triangular        trsm   B = X of A X = alpha B, A lower triangular
 *
 * Elements are whole numbers that are small enough for sums to be exact, so results equal the definition's. What must not be read, above the
 * diagonal of a symmetric or triangular matrix, is not a number.                                                         */
#ifndef APPS_BLAS_ROUTINES_H
#define APPS_BLAS_ROUTINES_H

#include <math.h>

#include "../common/report.h"
#include "../common/roles.h"
#include "products.h"

typedef enum { GEMM, SYMM, SYRK, SYR2K, TRMM, TRSM, ROUTINES } Routine;

#define ROUTINE_WORDS "gemm|symm|syrk|syr2k|trmm|trsm|all"
static const char *const ROUTINE_NAMES[ROUTINES] = {"gemm", "symm", "syrk", "syr2k", "trmm", "trsm"};

enum { MATRIX_A = 1, MATRIX_B, MATRIX_C };
static const double ALPHA = 2, BETA = -1;

/* What a routine is asked for: C is m x n, or m x m for syrk and syr2k, and k the common dimension of general operands. */
typedef struct {
    Routine routine;
    int m, n, k;
} Problem;

static inline bool has_square_a(Routine routine) { return routine == SYMM || routine == TRMM || routine == TRSM; }

static inline bool is_in_place(Routine routine) { return routine == TRMM || routine == TRSM; }

static inline bool has_lower_c(Routine routine) { return routine == SYRK || routine == SYR2K; }

/* Rows and columns of A, B and C; a routine in place has its C in B. */
static inline void shape_of(const Problem *problem, int matrix, int *rows, int *columns)
{
    bool square = has_square_a(problem->routine), lower = has_lower_c(problem->routine);
    *rows = matrix == MATRIX_B && !square && !lower ? problem->k : problem->m;
    *columns = matrix == MATRIX_A || (matrix == MATRIX_B && lower) ? (square ? problem->m : problem->k) : (lower ? problem->m : problem->n);
}

/* An element of A or C as the routine is given it. */
static inline double element(const Problem *problem, int matrix, int row, int column)
{
    if (matrix != MATRIX_A || !has_square_a(problem->routine)) return small_number((uint64_t)matrix, row, column);
    if (column > row) return (double)NAN;
    if (column == row && problem->routine == TRSM) return row % 2 == 0 ? 2 : -1; /* exact divisors */
    return small_number(MATRIX_A, row, column);
}

/* The same with what a symmetric or triangular A has above its diagonal. */
static inline double whole_a(const Problem *problem, int row, int column)
{
    if (!has_square_a(problem->routine) || column <= row) return element(problem, MATRIX_A, row, column);
    return problem->routine == SYMM ? element(problem, MATRIX_A, column, row) : 0;
}

/* Of trsm, whose right-hand side is made from its solution; of the others as it is. */
static inline double element_of_b(const Problem *problem, int row, int column)
{
    if (problem->routine != TRSM) return element(problem, MATRIX_B, row, column);
    double sum = 0;
    for (int k = 0; k <= row; k++) sum += whole_a(problem, row, k) * small_number(MATRIX_B, k, column);
    return sum / ALPHA;
}

/* The result, by definition. */
static inline double expected(const Problem *problem, int row, int column)
{
    double sum = 0;
    switch (problem->routine) {
    case GEMM:
    case SYMM:
    case TRMM:
        for (int k = 0; k < (problem->routine == GEMM ? problem->k : problem->m); k++)
            sum += whole_a(problem, row, k) * element(problem, MATRIX_B, k, column);
        break;
    case SYRK:
        for (int k = 0; k < problem->k; k++) sum += whole_a(problem, row, k) * whole_a(problem, column, k);
        break;
    case SYR2K:
        for (int k = 0; k < problem->k; k++)
            sum += whole_a(problem, row, k) * element(problem, MATRIX_B, column, k) + element(problem, MATRIX_B, row, k) * whole_a(problem, column, k);
        break;
    default: return small_number(MATRIX_B, row, column); /* the solution of trsm */
    }
    if (problem->routine == TRMM) return ALPHA * sum;
    double before = element(problem, MATRIX_C, row, column);
    return has_lower_c(problem->routine) && column > row ? before : ALPHA * sum + BETA * before;
}

/* Multiplications and additions, as usually counted. */
static inline double operations(const Problem *problem)
{
    double m = problem->m, n = problem->n, k = problem->k;
    switch (problem->routine) {
    case GEMM: return 2 * m * n * k;
    case SYMM: return 2 * m * m * n;
    case SYRK: return m * (m + 1) * k;
    case SYR2K: return 2 * m * (m + 1) * k;
    default: return m * m * n;
    }
}

/* The routine as products of blocks; a, b and c are addresses. */
static inline Product product_of(const Problem *problem, char *a, char *b, char *c)
{
    Operand left = {.data = a}, right = {.data = b};
    shape_of(problem, MATRIX_A, &left.rows, &left.columns);
    shape_of(problem, MATRIX_B, &right.rows, &right.columns);
    Product product = {.c = c, .alpha = ALPHA, .beta = BETA, .term_count = 1, .terms = {{.left = left, .right = right}}};
    shape_of(problem, MATRIX_C, &product.rows, &product.columns);
    product.depth = left.columns;
    product.lower = has_lower_c(problem->routine);
    product.in_place = is_in_place(problem->routine);
    product.solves = problem->routine == TRSM;
    if (problem->routine == SYMM) product.terms[0].left.form = SYMMETRIC;
    if (product.in_place) {
        product.terms[0].left.form = TRIANGULAR;
        product.c = b;
        product.alpha = product.solves ? -1 : ALPHA;
        product.beta = product.solves ? ALPHA : 0;
    }
    if (product.lower) {
        Operand left_flipped = left, right_flipped = right;
        left_flipped.transposed = right_flipped.transposed = true;
        product.terms[0].right = problem->routine == SYRK ? left_flipped : right_flipped;
        product.terms[1] = (Term){.left = right, .right = left_flipped};
        product.term_count = problem->routine == SYRK ? 1 : 2;
    }
    return product;
}

/* The blocks of C of a rank, in the order that the routine needs; returns how many, and writes at most that many. In place, columns of
 * blocks are independent and rows follow each other, downwards if the ones above are needed as they will be, else upwards.      */
static inline int tasks_of(const Product *product, Blocking blocking, const Global *global, Task *tasks)
{
    int rows = rounded_up(product->rows, blocking.mc) / blocking.mc, columns = rounded_up(product->columns, blocking.nc) / blocking.nc;
    int divided = product->in_place ? columns : rows * columns, count = 0;
    int first = (int)part_begin(divided, global->workers, global->worker), last = (int)part_begin(divided, global->workers, global->worker + 1);
    for (int part = first; part < last; part++)
        for (int i = 0; i < (product->in_place ? rows : 1); i++) {
            int row = product->in_place ? (product->solves ? i : rows - 1 - i) : part / columns;
            Task task = {.row = row * blocking.mc, .column = (product->in_place ? part : part % columns) * blocking.nc};
            bool above = product->lower && task.column > task.row + blocking.mc - 1;
            if (!above) tasks[count++] = task;
        }
    return count;
}

#endif
