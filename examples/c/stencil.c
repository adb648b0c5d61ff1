/* Heat on a square plate: a five-point Jacobi stencil on a 2-D grid of ranks, with everything in global variables.
 *
 * Globals are on purpose: with ranks as threads or fibers each of them must have its own. The result does not depend on
 * the number of ranks: every rank computes its cells in the same way, and the sums are made of integers.
 *
 * usage: stencil [CELLS [STEPS]]                                                                               */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks;
static int across, down;           /* ranks in each direction */
static int my_column, my_row;      /* my place among them */
static int columns, rows;          /* my cells */
static double *now, *next;         /* (rows + 2) x (columns + 2), a rim of neighbours' cells around mine */
static double *column_out, *column_in;

static double *cell(double *plate, int row, int column) { return plate + (size_t)row * (columns + 2) + column; }

/* As square a grid as the number of ranks allows. */
static void lay_out_ranks(void)
{
    down = 1;
    for (int d = 2; d * d <= ranks; d++)
        if (ranks % d == 0) down = d;
    across = ranks / down;
    my_row = rank / across;
    my_column = rank % across;
}

/* The part of `cells` that place `at` of `places` has. */
static int share(int cells, int places, int at) { return cells * (at + 1) / places - cells * at / places; }

static int neighbour(int row, int column)
{
    if (row < 0 || row >= down || column < 0 || column >= across) return MPI_PROC_NULL;
    return row * across + column;
}

static void exchange_rows(void)
{
    int up = neighbour(my_row - 1, my_column), below = neighbour(my_row + 1, my_column);
    MPI_Sendrecv(cell(now, 1, 1), columns, MPI_DOUBLE, up, 1, cell(now, rows + 1, 1), columns, MPI_DOUBLE, below, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(cell(now, rows, 1), columns, MPI_DOUBLE, below, 2, cell(now, 0, 1), columns, MPI_DOUBLE, up, 2,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void exchange_column(int out, int to, int in, int from, int tag)
{
    for (int row = 1; row <= rows; row++) column_out[row - 1] = *cell(now, row, out);
    MPI_Sendrecv(column_out, rows, MPI_DOUBLE, to, tag, column_in, rows, MPI_DOUBLE, from, tag, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    if (from == MPI_PROC_NULL) return;
    for (int row = 1; row <= rows; row++) *cell(now, row, in) = column_in[row - 1];
}

static void step(void)
{
    int left = neighbour(my_row, my_column - 1), right = neighbour(my_row, my_column + 1);
    exchange_rows();
    exchange_column(1, left, columns + 1, right, 3);
    exchange_column(columns, right, 0, left, 4);
    for (int row = 1; row <= rows; row++)
        for (int column = 1; column <= columns; column++)
            *cell(next, row, column) = 0.25 * (*cell(now, row - 1, column) + *cell(now, row + 1, column) +
                                               *cell(now, row, column - 1) + *cell(now, row, column + 1));
    double *swap = now;
    now = next;
    next = swap;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int cells = argc > 1 ? atoi(argv[1]) : 192;
    int steps = argc > 2 ? atoi(argv[2]) : 100;
    lay_out_ranks();
    rows = share(cells, down, my_row);
    columns = share(cells, across, my_column);
    if (rows < 1 || columns < 1) {
        fprintf(stderr, "stencil: %d x %d cells are too few for %d ranks\n", cells, cells, ranks);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    size_t room = (size_t)(rows + 2) * (columns + 2) * sizeof *now;
    now = calloc(1, room);
    next = calloc(1, room);
    column_out = malloc(rows * sizeof *column_out);
    column_in = malloc(rows * sizeof *column_in);
    if (!now || !next || !column_out || !column_in) {
        fprintf(stderr, "stencil: rank %d has no memory for %d x %d cells\n", rank, rows, columns);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }

    /* The upper edge is hot; both plates get it, because steps go from one to the other. */
    if (my_row == 0)
        for (int column = 0; column < columns + 2; column++) *cell(now, 0, column) = *cell(next, 0, column) = 100;
    for (int i = 0; i < steps; i++) step();

    /* Heat in millionths, as integers: the order of the sum does not matter. */
    long long heat = 0, total, warm = 0, all_warm;
    for (int row = 1; row <= rows; row++)
        for (int column = 1; column <= columns; column++) {
            heat += (long long)(*cell(now, row, column) * 1e6);
            warm += *cell(now, row, column) > 1;
        }
    MPI_Reduce(&heat, &total, 1, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&warm, &all_warm, 1, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d x %d cells after %d steps: heat %lld, cells above one degree %lld\n", cells, cells, steps, total, all_warm);
    free(now);
    free(next);
    free(column_out);
    free(column_in);
    MPI_Finalize();
    return 0;
}
