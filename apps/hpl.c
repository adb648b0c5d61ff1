/* HPL: solves a dense system of N equations by LU factorisation with row pivoting on a P x Q grid of ranks.
 *
 * The algorithm of High Performance Linpack (Petitet, Whaley, Dongarra, Cleary), written anew: block-cyclic distribution,
 * right-looking, panels factored by one process column and broadcast along the rows, look-ahead of 0 or 1 panels, back
 * substitution, and the residual as HPL computes and prints it. With look-ahead 1 the next panel is updated and factored
 * first and travels while the rest of the matrix is updated. The declared work's law is in hpl/blas.h.
 *
 * Prints HPL's line of the residual, and app=hpl ranks= n= nb= p= q= depth= bcast= residual= result=passed|failed gflops= time=
 * cycles=. The time is that of the slowest rank for factorisation and back substitution.                          */
#include "common/options.h"
#include "hpl/solve.h"
#include "hpl/update.h"

static const double RESIDUAL_LIMIT = 16;

typedef struct {
    int n, block, rows, columns, depth, shape;
    uint64_t seed;
    double mhz;
} Settings;

/* Factors a panel, if this rank's column owns it. */
static void factor_if_mine(const Grid *grid, Matrix *matrix, Panel *panel)
{
    if (panel->owner_column == grid->column) panel_factor(panel, grid, matrix);
}

static void factor(const Grid *grid, Matrix *matrix, int depth, BroadcastShape shape)
{
    Panel panels[2] = {panel_make(matrix), panel_make(matrix)};
    int blocks = (matrix->n + matrix->block - 1) / matrix->block;
    panel_describe(&panels[0], grid, matrix, 0);
    factor_if_mine(grid, matrix, &panels[0]);
    Broadcast broadcast = broadcast_begin(grid, &panels[0], shape);
    broadcast_end(&broadcast);
    for (int block = 0; block < blocks; block++) {
        Panel *now = &panels[block % 2], *next = &panels[(block + 1) % 2];
        int after = local_before(now->first + now->width, matrix->block, grid->column, grid->columns);
        bool has_next = block + 1 < blocks;
        if (has_next) panel_describe(next, grid, matrix, block + 1);
        if (has_next && depth == 1) {
            int ahead = next->owner_column == grid->column ? next->width : 0;
            update_columns(grid, matrix, now, after, after + ahead, NULL);
            factor_if_mine(grid, matrix, next);
            broadcast = broadcast_begin(grid, next, shape);
            update_columns(grid, matrix, now, after + ahead, matrix->columns, &broadcast);
            broadcast_end(&broadcast);
            continue;
        }
        update_columns(grid, matrix, now, after, matrix->columns, NULL);
        if (!has_next) break;
        factor_if_mine(grid, matrix, next);
        broadcast = broadcast_begin(grid, next, shape);
        broadcast_end(&broadcast);
    }
    panel_free(&panels[0]);
    panel_free(&panels[1]);
}

static bool report(const Settings *settings, const Norms *norms, double seconds)
{
    double n = settings->n, residual = scaled_residual(norms, settings->n), flops = 2 * n * n * n / 3 + 3 * n * n / 2;
    bool passed = residual < RESIDUAL_LIMIT;
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (rank != 0) return passed;
    printf("||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)= %16.7f ...... %s\n", residual, passed ? "PASSED" : "FAILED");
    printf("app=hpl ranks=%d n=%d nb=%d p=%d q=%d depth=%d bcast=%s residual=%.7f result=%s gflops=%.6f", ranks, settings->n,
           settings->block, settings->rows, settings->columns, settings->depth,
           settings->shape == BROADCAST_RING ? "ring" : "binomial", residual, passed ? "passed" : "failed",
           flops / seconds * 1e-9);
    report_time(seconds, settings->mhz);
    return passed;
}

/* As square a grid as the number of ranks allows, with fewer rows than columns: a pivot is agreed on along a column. */
static void choose_grid(Settings *settings, int ranks)
{
    if (settings->rows == 0 && settings->columns == 0)
        for (int rows = 1; rows * rows <= ranks; rows++)
            if (ranks % rows == 0) settings->rows = rows;
    if (settings->rows == 0) settings->rows = ranks / settings->columns;
    if (settings->columns == 0) settings->columns = ranks / settings->rows;
}

static int run(Settings *settings)
{
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    choose_grid(settings, ranks);
    if (settings->rows * settings->columns != ranks) {
        if (rank == 0)
            fprintf(stderr, "hpl: a grid of %d x %d is not for %d ranks\n", settings->rows, settings->columns, ranks);
        return 2;
    }
    Grid grid = grid_make(settings->rows, settings->columns);
    Matrix matrix = matrix_make(&grid, settings->n, settings->block, settings->seed);
    double *x = room((size_t)settings->n, sizeof *x);

    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    factor(&grid, &matrix, settings->depth, (BroadcastShape)settings->shape);
    back_substitute(&grid, &matrix, x);
    double mine = MPI_Wtime() - begin, slowest;
    MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);

    Norms norms = norms_of(&grid, &matrix, x);
    bool passed = report(settings, &norms, slowest);
    free(x);
    matrix_free(&matrix);
    grid_free(&grid);
    return passed ? 0 : 1;
}

int main(int argc, char **argv)
{
    Settings settings = {.n = 1250, .block = 16, .depth = 1, .seed = 1, .mhz = ANDEY_MHZ};
    const Option options[] = {
        {.name = "--n", .kind = OPTION_POSITIVE, .value = &settings.n, .help = "equations (1250)"},
        {.name = "--nb", .kind = OPTION_POSITIVE, .value = &settings.block, .help = "rows and columns of a block (16)"},
        {.name = "--p", .kind = OPTION_POSITIVE, .value = &settings.rows, .help = "rows of the grid (as square as possible)"},
        {.name = "--q", .kind = OPTION_POSITIVE, .value = &settings.columns, .help = "columns of the grid"},
        {.name = "--depth", .kind = OPTION_CHOICE, .value = &settings.depth, .help = "panels of look-ahead", .words = "0|1"},
        {.name = "--bcast", .kind = OPTION_CHOICE, .value = &settings.shape, .help = "of panels", .words = "ring|binomial"},
        {.name = "--cores", .kind = OPTION_POSITIVE, .value = &blas_cores, .help = "of a rank that share its products (1)", .most = 4096},
        {.name = "--seed", .kind = OPTION_SEED, .value = &settings.seed, .help = "of the matrix (1)"},
        {.name = "--mhz", .kind = OPTION_FRACTION, .value = &settings.mhz, .help = "clock for cycles= (400)"},
    };
    MPI_Init(&argc, &argv);
    OptionsRead read = options_read(argc, argv, "hpl: LU factorisation", options, sizeof options / sizeof *options);
    int status = read.ends ? read.status : run(&settings);
    MPI_Finalize();
    return status;
}
