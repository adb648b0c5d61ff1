/* gemm_async: C = C + A^T B with all three in the common memory, streamed through the ranks block by block (Ho's thesis, chapter 8).
 *
 * C is cut into blocks of --mb x --nb, which are divided among the ranks. A rank computes one of them from a column of blocks of A and one
 * of B, --kb deep; while it works on one pair the next is on its way: two blocks of A, two of B and one of C in its memory. Blocks at
 * the edges are filled up with zeros. A lies transposed, K x M, as in the thesis, so that a step of the micro-kernel finds its column side by side.
 *
 * The common memory is the DDR of the I/O rank on a chip (--io), else rank 0's window. Law of the declared work: common/microkernel.h, with
 * the --cores of a cluster (16) sharing the tiles of a block; filling up with zeros is not declared. That is the micro-kernel whose loads run ahead of
 * the cores. Of the two other ones of table 8.1, --kernel cached and c, only the time is another: what loads through the cache and a compiler cost
 * is not known, so a step of each takes what its speed with two memories says.
 *
 * Elements are small whole numbers, so that the result is exact in every order and the check is for equality.
 *
 * Prints app=gemm_async real= ranks= m= n= k= block=MxNxK gflops= check= result=SUM time= cycles=, where the sum is that of all elements of C, or with
 * --formulas the memory that the thesis' blocks need.                                                                     */
#include "common/global.h"
#include "common/microkernel.h"
#include "common/report.h"
#include "common/roles.h"

enum { KERNEL_STREAMING, KERNEL_CACHED, KERNEL_C };
enum { CYCLES_PER_100_CACHED_STEPS = 2620, CYCLES_PER_100_C_STEPS = 8365 };

typedef struct {
    int real, kernel, m, n, k, mb, nb, kb, cores, check, ddrs;
    bool formulas;
    double mhz;
} Settings;

enum { MATRIX_A = 1, MATRIX_B, MATRIX_C };
enum { CHECK_SAMPLED, CHECK_FULL };

static int divided_up(int all, int part) { return (all + part - 1) / part; }

static int least(int a, int b) { return a < b ? a : b; }

/* The five blocks of a rank. */
typedef struct {
    char *a[2], *b[2], *c;
} Blocks;

static size_t bytes_of_blocks(const Real *real, int mb, int nb, int kb)
{
    return real->bytes * (2 * (size_t)kb * (size_t)mb + 2 * (size_t)kb * (size_t)nb + (size_t)mb * (size_t)nb);
}

typedef struct {
    const Settings *settings;
    const Global *global;
    const Real *real;
    GlobalArray a, b, c;
    Blocks blocks;
} Product;

/* A block of a matrix: where it begins and how much of it there is. */
typedef struct {
    int starts[2], there[2], block[2];
} Piece;

static Piece piece_of(const GlobalArray *array, int row, int column, int rows, int columns)
{
    return (Piece){.starts = {row, column},
                   .there = {least(rows, array->extents[0] - row), least(columns, array->extents[1] - column)},
                   .block = {rows, columns}};
}

static void begin_get(const Product *product, const GlobalArray *array, Piece piece, void *local, MPI_Request *event)
{
    static const int corner[2] = {0, 0};
    if (piece.there[0] < piece.block[0] || piece.there[1] < piece.block[1])
        memset(local, 0, (size_t)piece.block[0] * (size_t)piece.block[1] * product->real->bytes);
    global_get(product->global, array, piece.starts, piece.there, (LocalPart){.data = local, .extents = piece.block, .starts = corner}, event);
}

/* One step of the pipeline: a pair of blocks of A and B for a block of C. */
typedef struct {
    int block, depth; /* which block of C, and which pair of its */
} Step;

static int depths(const Settings *settings) { return divided_up(settings->k, settings->kb); }

static Piece piece_of_c(const Product *product, int block)
{
    const Settings *settings = product->settings;
    int across = divided_up(settings->n, settings->nb);
    return piece_of(&product->c, block / across * settings->mb, block % across * settings->nb, settings->mb, settings->nb);
}

static void begin_pair(const Product *product, Step step, int slot, MPI_Request events[2])
{
    const Settings *settings = product->settings;
    Piece c = piece_of_c(product, step.block);
    int k = step.depth * settings->kb;
    begin_get(product, &product->a, piece_of(&product->a, k, c.starts[0], settings->kb, settings->mb), product->blocks.a[slot], &events[0]);
    begin_get(product, &product->b, piece_of(&product->b, k, c.starts[1], settings->kb, settings->nb), product->blocks.b[slot], &events[1]);
}

static void multiply(const Product *product, int slot)
{
    const Settings *settings = product->settings;
    const Real *real = product->real;
    for (int i = 0; i < settings->mb; i += real->rows)
        for (int j = 0; j < settings->nb; j += real->columns)
            real->kernel(settings->kb, 1, product->blocks.a[slot] + (size_t)i * real->bytes, settings->mb,
                         product->blocks.b[slot] + (size_t)j * real->bytes, settings->nb,
                         product->blocks.c + ((size_t)i * (size_t)settings->nb + (size_t)j) * real->bytes, settings->nb);
    int64_t steps = (int64_t)(settings->mb / real->rows) * (settings->nb / real->columns) * settings->kb;
    switch (settings->kernel) {
    case KERNEL_CACHED: declare_shared(steps * CYCLES_PER_100_CACHED_STEPS / 100, settings->cores); break;
    case KERNEL_C: declare_shared(steps * CYCLES_PER_100_C_STEPS / 100, settings->cores); break;
    default: declare_steps(steps, settings->cores);
    }
}

/* All blocks of C of this rank. */
static void compute(Product *product)
{
    const Settings *settings = product->settings;
    const Global *global = product->global;
    int all = divided_up(settings->m, settings->mb) * divided_up(settings->n, settings->nb);
    int first = (int)part_begin(all, global->workers, global->worker), last = (int)part_begin(all, global->workers, global->worker + 1);
    MPI_Request pairs[2][2], whole;
    if (first < last) begin_pair(product, (Step){.block = first}, 0, pairs[0]);
    for (int block = first, slot = 0; block < last; block++) {
        Piece c = piece_of_c(product, block);
        begin_get(product, &product->c, c, product->blocks.c, &whole);
        for (int depth = 0; depth < depths(settings); depth++, slot = 1 - slot) {
            bool ends_block = depth + 1 == depths(settings);
            Step next = {.block = ends_block ? block + 1 : block, .depth = ends_block ? 0 : depth + 1};
            if (next.block < last) begin_pair(product, next, 1 - slot, pairs[1 - slot]);
            MPI_Waitall(2, pairs[slot], MPI_STATUSES_IGNORE);
            if (depth == 0) MPI_Wait(&whole, MPI_STATUS_IGNORE);
            multiply(product, slot);
        }
        static const int corner[2] = {0, 0};
        global_put(global, &product->c, c.starts, c.there, (LocalPart){.data = product->blocks.c, .extents = c.block, .starts = corner}, &whole);
        MPI_Wait(&whole, MPI_STATUS_IGNORE); /* the next block of C comes into the same place */
    }
}

static void fill(const Global *global, const Real *real, const GlobalArray *array, uint64_t matrix)
{
    char *elements = (char *)global->memory + array->at;
    for (int row = 0; row < array->extents[0]; row++)
        for (int column = 0; column < array->extents[1]; column++)
            real_store(real, elements, (size_t)row * (size_t)array->extents[1] + (size_t)column, small_number(matrix, row, column));
}

/* By the owner: whether C is right, in full or at some places, and the sum of it. */
static bool is_right(const Product *product, double *sum)
{
    const Settings *settings = product->settings;
    const char *c = (const char *)product->global->memory + product->c.at;
    size_t elements = (size_t)settings->m * (size_t)settings->n, samples = 256;
    if (settings->check == CHECK_FULL || samples > elements) samples = elements;
    bool right = true;
    for (size_t i = 0; i < samples; i++) {
        size_t index = samples == elements ? i : random_at(4, i) % elements;
        int row = (int)(index / (size_t)settings->n), column = (int)(index % (size_t)settings->n);
        double expected = small_number(MATRIX_C, row, column);
        for (int k = 0; k < settings->k; k++) expected += small_number(MATRIX_A, k, row) * small_number(MATRIX_B, k, column);
        right &= real_load(product->real, c, index) == expected;
    }
    *sum = 0;
    for (size_t i = 0; i < elements; i++) *sum += real_load(product->real, c, i);
    return right;
}

static int run(const Settings *settings, Global *global)
{
    const Real *real = &REAL[settings->real];
    if (settings->mb % real->rows != 0 || settings->nb % real->columns != 0) {
        if (global->rank == 0)
            fprintf(stderr, "gemm_async: blocks of %d x %d, expected multiples of %d x %d\n", settings->mb, settings->nb, real->rows, real->columns);
        return 2;
    }
    MPI_Datatype element = settings->real == SINGLE ? MPI_FLOAT : MPI_DOUBLE;
    Product product = {.settings = settings, .global = global, .real = real};
    product.a = (GlobalArray){.ndims = 2, .extents = {settings->k, settings->m}, .element = element};
    product.b = (GlobalArray){.ndims = 2, .extents = {settings->k, settings->n}, .element = element};
    product.c = (GlobalArray){.ndims = 2, .extents = {settings->m, settings->n}, .element = element};
    product.b.at = (MPI_Aint)real->bytes * settings->k * settings->m;
    product.c.at = product.b.at + (MPI_Aint)real->bytes * settings->k * settings->n;
    global_open(global, product.c.at + (MPI_Aint)real->bytes * settings->m * settings->n);
    global_divide(global, settings->ddrs, product.b.at, (MPI_Aint)real->bytes * settings->k * settings->n);
    if (global->owns) {
        fill(global, real, &product.a, MATRIX_A);
        fill(global, real, &product.b, MATRIX_B);
        fill(global, real, &product.c, MATRIX_C);
    }
    global_meet_all(global);
    double seconds = 0, sum = 0;
    if (global->worker >= 0) {
        char *memory = room(bytes_of_blocks(real, settings->mb, settings->nb, settings->kb), 1);
        size_t a = real->bytes * (size_t)settings->kb * (size_t)settings->mb, b = real->bytes * (size_t)settings->kb * (size_t)settings->nb;
        product.blocks = (Blocks){.a = {memory, memory + a}, .b = {memory + 2 * a, memory + 2 * a + b}, .c = memory + 2 * a + 2 * b};
        global_meet(global);
        double begin = MPI_Wtime();
        compute(&product);
        global_meet(global);
        seconds = MPI_Wtime() - begin;
        free(memory);
    }
    global_meet_all(global);
    bool right = !global->owns || is_right(&product, &sum);
    MPI_Bcast(&right, sizeof right, MPI_BYTE, global->owner, MPIX_COMM_LOCAL);
    MPI_Bcast(&sum, 1, MPI_DOUBLE, global->owner, MPIX_COMM_LOCAL);
    global_close(global);
    if (global->rank == 0) {
        printf("app=gemm_async real=%s ranks=%d m=%d n=%d k=%d block=%dx%dx%d gflops=%.3f check=%s result=%.0f", real->name, global->workers,
               settings->m, settings->n, settings->k, settings->mb, settings->nb, settings->kb,
               2.0 * settings->m * settings->n * settings->k / seconds / 1e9, right ? "passed" : "failed", sum);
        report_time(seconds, settings->mhz);
    }
    return right ? 0 : 1;
}

/* Section 8.2.1: the blocks that a cluster's 1.5 MiB are to hold. */
static void print_formulas(void)
{
    enum { EDGE = 256, USABLE_KIB = 1536 };
    for (int real = SINGLE; real <= DOUBLE; real++) {
        int depth = real == SINGLE ? EDGE : EDGE / 2;
        size_t kib = bytes_of_blocks(&REAL[real], EDGE, EDGE, depth) / 1024;
        printf("app=gemm_async formula=memory real=%s block=%dx%dx%d kib=%zu left=%zu\n", REAL[real].name, EDGE, EDGE, depth, kib, USABLE_KIB - kib);
    }
}

int main(int argc, char **argv)
{
    Settings settings = {.m = 256, .n = 256, .k = 256, .mb = 64, .nb = 64, .kb = 64, .cores = 16, .ddrs = 1, .mhz = ANDEY_MHZ};
    const Option options[] = {
        {.name = "--real", .kind = OPTION_CHOICE, .value = &settings.real, .help = "precision", .words = REALS},
        {.name = "--kernel", .kind = OPTION_CHOICE, .value = &settings.kernel, .help = "law of the micro-kernel", .words = "streaming|cached|c"},
        {.name = "--m", .kind = OPTION_POSITIVE, .value = &settings.m, .help = "rows of C (256)", .most = 8192},
        {.name = "--n", .kind = OPTION_POSITIVE, .value = &settings.n, .help = "columns of C (256)", .most = 8192},
        {.name = "--k", .kind = OPTION_POSITIVE, .value = &settings.k, .help = "rows of A and B (256)", .most = 8192},
        {.name = "--mb", .kind = OPTION_POSITIVE, .value = &settings.mb, .help = "rows of a block of C (64)", .most = 4096},
        {.name = "--nb", .kind = OPTION_POSITIVE, .value = &settings.nb, .help = "columns of a block of C (64)", .most = 4096},
        {.name = "--kb", .kind = OPTION_POSITIVE, .value = &settings.kb, .help = "rows of a block of A and B (64)", .most = 4096},
        {.name = "--cores", .kind = OPTION_POSITIVE, .value = &settings.cores, .help = "of a rank (16)", .most = 4096},
        {.name = "--ddrs", .kind = OPTION_POSITIVE, .value = &settings.ddrs, .help = "I/O subsystems: with two, B is in the second (1)", .most = 2},
        {.name = "--check", .kind = OPTION_CHOICE, .value = &settings.check, .help = "how much", .words = "sampled|full"},
        {.name = "--formulas", .kind = OPTION_FLAG, .value = &settings.formulas, .help = "print what the thesis computes on paper"},
        {.name = "--mhz", .kind = OPTION_FRACTION, .value = &settings.mhz, .help = "clock for cycles= (400)"},
    };
    MPI_Init(&argc, &argv);
    Global global = global_roles();
    OptionsRead read = options_read(argc, argv, "gemm_async: matrix product over block transfers", options, sizeof options / sizeof *options);
    read = global_told(read, &settings, sizeof settings);
    if (!read.ends) {
        if (!settings.formulas) read.status = run(&settings, &global);
        else if (global.rank == 0) print_formulas();
    }
    MPI_Finalize();
    return read.status;
}
