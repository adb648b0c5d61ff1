/* Operations of the program. Products of 2 x 2 matrices do not commute: the ranks' matrices are to be multiplied in the order of
 * ranks, whatever the root, the size and the algorithm. */
#include "check.h"

typedef struct {
    unsigned a, b, c, d;
} matrix;

static matrix times(matrix x, matrix y)
{
    return (matrix){x.a * y.a + x.b * y.c, x.a * y.b + x.b * y.d, x.c * y.a + x.d * y.c, x.c * y.b + x.d * y.d};
}

static int calls;

static void multiply(void *in, void *inout, int *length, MPI_Datatype *type)
{
    matrix *left = in, *right = inout;
    (void)type;
    calls++;
    for (int i = 0; i < *length; i++) right[i] = times(left[i], right[i]);
}

static matrix of(int r, int i) { return (matrix){r + 2, i % 5 + 1, r % 3 + 1, i % 7 + r}; }

/* The product of the matrices of ranks from..to-1 at place i. */
static matrix product(int from, int to, int i)
{
    matrix all = of(from, i);
    for (int r = from + 1; r < to; r++) all = times(all, of(r, i));
    return all;
}

static void check(const matrix *found, int count, int first, int from, int to, const char *what)
{
    for (int i = 0; i < count; i++) {
        matrix expected = product(from, to, first + i);
        if (memcmp(&found[i], &expected, sizeof expected) && failures++ < 20)
            fprintf(stderr, "rank %d of %d: %s of %d matrices is wrong at %d\n", rank, size, what, count, i);
    }
}

static void multiply_all(MPI_Op op, MPI_Datatype type, int count)
{
    matrix *mine = malloc(count * size * sizeof *mine), *all = malloc(count * size * sizeof *all);
    for (int i = 0; i < count * size; i++) mine[i] = of(rank, i);
    for (int root = 0; root < size; root += size > 2 ? size / 2 : 1) {
        MPI_Reduce(mine, all, count, type, op, root, MPI_COMM_WORLD);
        if (rank == root) check(all, count, 0, 0, size, "the reduction");
    }
    MPI_Allreduce(mine, all, count, type, op, MPI_COMM_WORLD);
    check(all, count, 0, 0, size, "the reduction for all");
    MPI_Scan(mine, all, count, type, op, MPI_COMM_WORLD);
    check(all, count, 0, 0, rank + 1, "the scan");
    MPI_Exscan(mine, all, count, type, op, MPI_COMM_WORLD);
    if (rank) check(all, count, 0, 0, rank, "the scan without oneself");
    MPI_Reduce_scatter_block(mine, all, count, type, op, MPI_COMM_WORLD);
    check(all, count, rank * count, 0, size, "the scattered reduction");
    MPI_Request request;
    MPI_Iallreduce(mine, all, count, type, op, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check(all, count, 0, 0, size, "the reduction that does not block");
    free(mine);
    free(all);
}

int main(int argc, char **argv)
{
    static const int counts[] = {1, 5, 3000};
    MPI_Datatype type;
    MPI_Op op, sum;
    int commutes = 1;
    begin(&argc, &argv);
    MPI_Type_contiguous(4, MPI_UNSIGNED, &type);
    MPI_Type_commit(&type);
    MPI_Op_create(multiply, 0, &op);
    MPI_Op_commutative(op, &commutes);
    CHECK(!commutes);
    MPI_Op_commutative(MPI_SUM, &commutes);
    CHECK(commutes);
    for (int c = 0; c < 3; c++) multiply_all(op, type, counts[c]);
    CHECK(calls > 0 || size == 1);

    /* Locally: inout becomes in applied to inout. */
    matrix in[3] = {of(1, 0), of(1, 1), of(1, 2)}, inout[3] = {of(2, 0), of(2, 1), of(2, 2)};
    MPI_Reduce_local(in, inout, 3, type, op);
    check(inout, 3, 0, 1, 3, "the local reduction");

    sum = MPI_SUM;
    MPI_Op_free(&op);
    CHECK(op == MPI_OP_NULL && sum == MPI_SUM);
    MPI_Type_free(&type);
    return conclude();
}
