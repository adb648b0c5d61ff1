/* blas: six routines of level 3 (gemm, symm, syrk, syr2k, trmm, trsm) on matrices in a large memory, over a back end of six functions.
 *
 * After BLIS-RDMA of Ho's thesis (chapter 9): blocks of A and B come in twos, blocks of C in threes, so that transfers and work overlap; a port
 * to another machine writes the six functions of blas/backend.h. There the routines run on one cluster, here on any number of ranks,
 * among which blocks of C, or columns of blocks for trmm and trsm, are divided.
 *
 * The large memory is the DDR of the I/O rank on a chip (--io), else rank 0's window. Law of the declared work: steps of the micro-kernel
 * (common/microkernel.h), shared by --cores (1); packing costs what a copy costs; scaling C is not declared.
 *
 * Every element of the result is compared with the definition, for equality.
 *
 * Prints for each routine app=blas routine= real= ranks= m= n= k= block=MCxNCxKC local=BYTES gflops= check= result=SUM time= cycles=, or with
 * --formulas the memory that the thesis' blocks need.                                                                     */
#include "blas/routines.h"

typedef struct {
    int routine, real, m, n, k, cores;
    Blocking blocking;
    bool resident, formulas;
    double mhz;
} Settings;

typedef struct {
    double seconds, sum;
    bool right;
} Outcome;

static size_t elements_of(const Problem *problem, int matrix)
{
    int rows, columns;
    shape_of(problem, matrix, &rows, &columns);
    return (size_t)rows * (size_t)columns;
}

/* Writes a matrix as the routine is given it. */
static void fill(const Problem *problem, const Real *real, int matrix, char *elements)
{
    int rows, columns;
    shape_of(problem, matrix, &rows, &columns);
    for (int row = 0; row < rows; row++)
        for (int column = 0; column < columns; column++)
            real_store(real, elements, (size_t)row * (size_t)columns + (size_t)column,
                       matrix == MATRIX_B ? element_of_b(problem, row, column) : element(problem, matrix, row, column));
}

/* By the owner of the memory. */
static void compare(const Problem *problem, const Real *real, const char *c, Outcome *outcome)
{
    int rows, columns;
    shape_of(problem, MATRIX_C, &rows, &columns);
    outcome->right = true;
    for (int row = 0; row < rows; row++)
        for (int column = 0; column < columns; column++) {
            double value = real_load(real, c, (size_t)row * (size_t)columns + (size_t)column);
            outcome->right &= value == expected(problem, row, column);
            outcome->sum += value;
        }
}

static double work(const Settings *settings, const Problem *problem, Dma *dma, char *a, char *b, char *c)
{
    const Real *real = &REAL[settings->real];
    Product product = product_of(problem, a, b, c);
    int blocks = (product.rows / settings->blocking.mc + 1) * (product.columns / settings->blocking.nc + 1);
    Task *tasks = room((size_t)blocks, sizeof *tasks);
    int count = tasks_of(&product, settings->blocking, dma->global, tasks);
    Workshop workshop = workshop_open(dma, real, settings->blocking, settings->cores);
    global_meet(dma->global);
    double begin = MPI_Wtime();
    product_run(&workshop, &product, tasks, count);
    global_meet(dma->global);
    double seconds = MPI_Wtime() - begin;
    workshop_close(&workshop);
    free(tasks);
    return seconds;
}

static Outcome run_routine(const Settings *settings, Routine routine, Global *global)
{
    const Problem problem = {.routine = routine, .m = settings->m, .n = settings->n, .k = settings->k};
    const Real *real = &REAL[settings->real];
    Outcome outcome = {0};
    Dma dma;
    size_t a = elements_of(&problem, MATRIX_A) * real->bytes, b = elements_of(&problem, MATRIX_B) * real->bytes;
    size_t c = is_in_place(routine) ? 0 : elements_of(&problem, MATRIX_C) * real->bytes;
    dma_init(&dma, global, a + b + c);
    char *memory = global->memory, *there = (char *)FIRST_ADDRESS, *own = NULL;
    if (global->owns) {
        fill(&problem, real, MATRIX_A, memory);
        fill(&problem, real, MATRIX_B, memory + a);
        if (c > 0) fill(&problem, real, MATRIX_C, memory + a + b);
    }
    if (settings->resident && global->worker >= 0) fill(&problem, real, MATRIX_A, own = room(a, 1));
    global_meet_all(global);
    if (global->worker >= 0) outcome.seconds = work(settings, &problem, &dma, own != NULL ? own : there, there + a, there + a + b);
    global_meet_all(global);
    if (global->owns) compare(&problem, real, memory + a + (c > 0 ? b : 0), &outcome);
    MPI_Bcast(&outcome.right, sizeof outcome.right, MPI_BYTE, global->owner, MPIX_COMM_LOCAL);
    MPI_Bcast(&outcome.sum, 1, MPI_DOUBLE, global->owner, MPIX_COMM_LOCAL);
    free(own);
    dma_finalize(&dma);
    return outcome;
}

static void print_outcome(const Settings *settings, Routine routine, const Global *global, const Outcome *outcome)
{
    const Problem problem = {.routine = routine, .m = settings->m, .n = settings->n, .k = settings->k};
    const Blocking *blocking = &settings->blocking;
    size_t elements[BUFFERS], local = 0;
    buffer_elements(&REAL[settings->real], *blocking, elements);
    for (int i = 0; i < BUFFERS; i++) local += elements[i] * REAL[settings->real].bytes;
    printf("app=blas routine=%s real=%s ranks=%d m=%d n=%d k=%d block=%dx%dx%d local=%zu gflops=%.3f check=%s result=%.0f", ROUTINE_NAMES[routine],
           REAL[settings->real].name, global->workers, settings->m, settings->n, settings->k, blocking->mc, blocking->nc, blocking->kc, local,
           operations(&problem) / outcome->seconds / 1e9, outcome->right ? "passed" : "failed", outcome->sum);
    report_time(outcome->seconds, settings->mhz);
}

/* Table 9.1, the sum, for the blocks of table 9.2: two blocks of A and B and their packed panels, three of C, and 80 KiB for control. */
static void print_formulas(void)
{
    static const Blocking published[] = {[SINGLE] = {.mc = 64, .nc = 128, .kc = 130}, [DOUBLE] = {.mc = 48, .nc = 64, .kc = 130}};
    for (int real = SINGLE; real <= DOUBLE; real++) {
        const Blocking *blocking = &published[real];
        int elements = 3 * (blocking->kc * blocking->nc + blocking->mc * blocking->kc + blocking->mc * blocking->nc) +
                       REAL[real].rows * blocking->nc + blocking->mc * REAL[real].columns;
        printf("app=blas formula=footprint real=%s block=%dx%dx%d kib=%.2f\n", REAL[real].name, blocking->mc, blocking->nc, blocking->kc,
               (double)elements * (double)REAL[real].bytes / 1024 + 80);
    }
}

static int run(const Settings *settings, Global *global)
{
    int status = 0;
    for (int routine = 0; routine < ROUTINES; routine++) {
        if (settings->routine != routine && settings->routine != ROUTINES) continue;
        Outcome outcome = run_routine(settings, (Routine)routine, global);
        if (global->rank == 0) print_outcome(settings, (Routine)routine, global, &outcome);
        if (!outcome.right) status = 1;
    }
    return status;
}

int main(int argc, char **argv)
{
    Settings settings = {.routine = ROUTINES, .m = 200, .n = 200, .k = 200, .cores = 1, .blocking = {.mc = 64, .nc = 128, .kc = 130}, .mhz = ANDEY_MHZ};
    const Option options[] = {
        {.name = "--routine", .kind = OPTION_CHOICE, .value = &settings.routine, .help = "one, or all", .words = ROUTINE_WORDS},
        {.name = "--real", .kind = OPTION_CHOICE, .value = &settings.real, .help = "precision", .words = REALS},
        {.name = "--m", .kind = OPTION_POSITIVE, .value = &settings.m, .help = "rows of C (200)", .most = 4096},
        {.name = "--n", .kind = OPTION_POSITIVE, .value = &settings.n, .help = "columns of C (200)", .most = 4096},
        {.name = "--k", .kind = OPTION_POSITIVE, .value = &settings.k, .help = "the common dimension (200)", .most = 4096},
        {.name = "--mc", .kind = OPTION_POSITIVE, .value = &settings.blocking.mc, .help = "rows of a block of C (64)", .most = 1024},
        {.name = "--nc", .kind = OPTION_POSITIVE, .value = &settings.blocking.nc, .help = "columns of a block of C (128)", .most = 1024},
        {.name = "--kc", .kind = OPTION_POSITIVE, .value = &settings.blocking.kc, .help = "common dimension of a block, mc or more (130)", .most = 1024},
        {.name = "--cores", .kind = OPTION_POSITIVE, .value = &settings.cores, .help = "of a rank (1)", .most = 4096},
        {.name = "--resident", .kind = OPTION_FLAG, .value = &settings.resident, .help = "A lies in the memory of every rank, too"},
        {.name = "--formulas", .kind = OPTION_FLAG, .value = &settings.formulas, .help = "print what the thesis computes on paper"},
        {.name = "--mhz", .kind = OPTION_FRACTION, .value = &settings.mhz, .help = "clock for cycles= (400)"},
    };
    MPI_Init(&argc, &argv);
    Global global = global_roles();
    OptionsRead read = options_read(argc, argv, "blas: six routines over a back end of six functions", options, sizeof options / sizeof *options);
    if (!read.ends && settings.blocking.kc < settings.blocking.mc) {
        if (global.rank == 0) fprintf(stderr, "blas: --kc is %d, expected %d (--mc) or more\n", settings.blocking.kc, settings.blocking.mc);
        read = (OptionsRead){.ends = true, .status = 2};
    }
    read = global_told(read, &settings, sizeof settings);
    if (!read.ends) {
        if (!settings.formulas) read.status = run(&settings, &global);
        else if (global.rank == 0) print_formulas();
    }
    MPI_Finalize();
    return read.status;
}
