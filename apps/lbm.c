/* lbm: a lattice Boltzmann fluid in a box with a moving lid, by the algorithms of Ho's thesis.
 *
 *     blocks       blocks of a lattice in the common memory, streamed through each rank with transfers of three dimensions (chapter 5)
 *     blocks-walls the same, each block updated in place with walls, the next step that the thesis names
 *     two-lattice, aa, two-wall, three-wall
 *                  ranks that share one memory, as threads do (chapter 6)
 *
 * The common memory is the DDR of the I/O rank on a chip (--io), else rank 0's window. A rank stands for a cluster of 16 cores with blocks,
 * and for one core otherwise; --cores says another number. Law of the declared work: 2350 core cycles a node (lbm/lattice.h), and a
 * copy into a wall costs what a copy costs. Neither making the first field nor checking the last one is declared.
 *
 * Every run is compared, bit by bit, with a serial one. Counted are the values that cores load and store for a node, the barriers of
 * a step and, with blocks, the share of what is read that is halo.
 *
 * Prints app=lbm variant= ranks= size=XxYxZ steps= [block=XxYxZ depth= halo= local=BYTES] moved=A_NODE barriers=A_STEP mlups=
 * check= result=HASH time= cycles=, or with --formulas lines of what the thesis computes on paper.                         */
#include "lbm/formulas.h"

typedef enum { BLOCKS, BLOCKS_WALLS, VARIANT_TWO_LATTICE, VARIANT_AA, VARIANT_TWO_WALL, VARIANT_THREE_WALL } Variant;

#define VARIANTS "blocks|blocks-walls|two-lattice|aa|two-wall|three-wall"
static const char *const VARIANT_NAMES[] = {"blocks", "blocks-walls", "two-lattice", "aa", "two-wall", "three-wall"};

typedef struct {
    int variant, size[3], block[3], depth, steps, cores, ddrs;
    bool formulas;
    double mhz;
} Settings;

static bool over_blocks(const Settings *settings) { return settings->variant == BLOCKS || settings->variant == BLOCKS_WALLS; }

/* What a run found: time of the slowest rank, counts of all, the field at the rank that compares it. */
typedef struct {
    double seconds;
    Counts counts;
    bool right;
    uint64_t hash;
} Outcome;

/* By the rank that has the field. */
static void compare_field(const Domain *domain, int steps, const float *field, Outcome *outcome)
{
    float *expected = serial_run(domain, steps);
    outcome->right = serial_is_physical(domain, steps, expected) && memcmp(field, expected, lattice_values(domain) * sizeof(float)) == 0;
    outcome->hash = field_hash(field, lattice_values(domain));
    free(expected);
}

static Outcome run_blocks(const Settings *settings, const Domain *domain, Global *global)
{
    Outcome outcome = {0};
    MPI_Datatype node;
    MPI_Type_contiguous(Q, MPI_FLOAT, &node);
    MPI_Type_commit(&node);
    MPI_Aint bytes = (MPI_Aint)(lattice_values(domain) * sizeof(float));
    global_open(global, 2 * bytes);
    global_divide(global, settings->ddrs, bytes, bytes);
    float *memory = global->memory;
    for (int z = 0; global->owns && z < domain->size[Z]; z++)
        for (int y = 0; y < domain->size[Y]; y++)
            for (int x = 0; x < domain->size[X]; x++) initial_node(domain, z, y, x, node_of(domain, memory, z, y, x));
    global_meet_all(global);
    if (global->worker >= 0) {
        bool in_place = settings->variant == BLOCKS_WALLS;
        Stream stream = {
            .domain = domain,
            .global = global,
            .cut = cut_of(domain, settings->block, settings->depth),
            .compute = in_place ? compute_in_place : compute_apart,
            .counts = &outcome.counts,
        };
        for (int i = 0; i < 2; i++)
            stream.lattices[i] = (GlobalArray){
                .at = i * bytes, .ndims = 3, .extents = {domain->size[Z], domain->size[Y], domain->size[X]}, .element = node};
        outcome.seconds = stream_run(&stream, settings->steps, in_place ? walls_of_slots(&stream.cut) : 0);
    }
    global_meet_all(global);
    if (global->owns) compare_field(domain, settings->steps, memory + settings->steps % 2 * (ptrdiff_t)lattice_values(domain), &outcome);
    MPI_Bcast(&outcome.right, sizeof outcome.right, MPI_BYTE, global->owner, MPIX_COMM_LOCAL);
    MPI_Bcast(&outcome.hash, sizeof outcome.hash, MPI_BYTE, global->owner, MPIX_COMM_LOCAL);
    global_close(global);
    MPI_Type_free(&node);
    return outcome;
}

static Outcome run_shared(const Settings *settings, const Domain *domain, const Global *global)
{
    static const SharedVariant *const variants[] = {
        [VARIANT_TWO_LATTICE] = &TWO_LATTICE, [VARIANT_AA] = &AA, [VARIANT_TWO_WALL] = &TWO_WALL, [VARIANT_THREE_WALL] = &THREE_WALL};
    Outcome outcome = {0};
    if (global->worker >= 0) {
        float *field = global->worker == 0 ? room(lattice_values(domain), sizeof(float)) : NULL;
        outcome.seconds = shared_run(domain, variants[settings->variant], settings->steps, &outcome.counts, field);
        if (global->worker == 0) compare_field(domain, settings->steps, field, &outcome);
        free(field);
    }
    MPI_Bcast(&outcome.right, sizeof outcome.right, MPI_BYTE, 0, MPIX_COMM_LOCAL);
    return outcome;
}

/* Counts of all ranks that compute, and the time of the slowest, at rank 0. */
static void reduce_outcome(const Global *global, Outcome *outcome)
{
    int64_t sums[4] = {outcome->counts.loads, outcome->counts.stores, outcome->counts.fetched, outcome->counts.updated};
    if (global->worker < 0) return;
    MPI_Allreduce(MPI_IN_PLACE, sums, 4, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &outcome->seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    outcome->counts = (Counts){
        .loads = sums[0], .stores = sums[1], .fetched = sums[2], .updated = sums[3], .barriers = outcome->counts.barriers};
}

static void print_outcome(const Settings *settings, const Domain *domain, const Global *global, const Outcome *outcome)
{
    const Counts *counts = &outcome->counts;
    printf("app=lbm variant=%s ranks=%d size=%dx%dx%d steps=%d", VARIANT_NAMES[settings->variant], global->workers, domain->size[X],
           domain->size[Y], domain->size[Z], settings->steps);
    if (over_blocks(settings)) {
        Cut cut = cut_of(domain, settings->block, settings->depth);
        printf(" block=%dx%dx%d depth=%d halo=%.4f local=%zu", cut.block[X], cut.block[Y], cut.block[Z], cut.depth,
               1 - (double)counts->updated / (double)counts->fetched, cut_bytes(&cut, settings->variant == BLOCKS_WALLS));
    }
    printf(" moved=%.4f barriers=%.4f mlups=%.3f check=%s result=%016llx", (double)(counts->loads + counts->stores) / (double)counts->updated,
           (double)counts->barriers / settings->steps, (double)counts->updated / outcome->seconds / 1e6, outcome->right ? "passed" : "failed",
           (unsigned long long)outcome->hash);
    report_time(outcome->seconds, settings->mhz);
}

/* What a domain must be for the algorithms, or why this one is not. */
static const char *not_allowed(const Settings *settings, const Global *global)
{
    for (int d = 0; d < 3; d++) {
        if (settings->size[d] < 2) return "an edge of one node, expected two or more";
        if (over_blocks(settings) && settings->size[d] % settings->block[d] != 0) return "an edge that blocks do not fill, expected a multiple";
    }
    bool all_share = global->worker < 0 || over_blocks(settings) || all_ranks_share();
    return all_share ? NULL : "ranks that do not share one memory, expected ranks of one cluster";
}

static int run(const Settings *settings, Global *global)
{
    const char *reason = not_allowed(settings, global);
    if (reason != NULL && global->rank == 0) fprintf(stderr, "lbm: %s\n", reason);
    int allowed = reason == NULL;
    MPI_Allreduce(MPI_IN_PLACE, &allowed, 1, MPI_INT, MPI_MIN, MPIX_COMM_LOCAL);
    if (!allowed) return 2;
    Domain domain = {.size = {settings->size[Z], settings->size[Y], settings->size[X]},
                     .cores = settings->cores > 0 ? settings->cores : (over_blocks(settings) ? 16 : 1)};
    Outcome outcome = over_blocks(settings) ? run_blocks(settings, &domain, global) : run_shared(settings, &domain, global);
    reduce_outcome(global, &outcome);
    if (global->rank == 0) print_outcome(settings, &domain, global, &outcome);
    return outcome.right ? 0 : 1;
}

int main(int argc, char **argv)
{
    Settings settings = {.size = {32, 32, 32}, .block = {16, 8, 16}, .depth = 3, .steps = 4, .ddrs = 1, .mhz = ANDEY_MHZ};
    const Option options[] = {
        {.name = "--variant", .kind = OPTION_CHOICE, .value = &settings.variant, .help = "algorithm", .words = VARIANTS},
        {.name = "--x", .kind = OPTION_POSITIVE, .value = &settings.size[X], .help = "nodes along x (32)", .most = 1024},
        {.name = "--y", .kind = OPTION_POSITIVE, .value = &settings.size[Y], .help = "nodes along y (32)", .most = 1024},
        {.name = "--z", .kind = OPTION_POSITIVE, .value = &settings.size[Z], .help = "nodes along z (32)", .most = 1024},
        {.name = "--steps", .kind = OPTION_POSITIVE, .value = &settings.steps, .help = "of time (4)"},
        {.name = "--block-x", .kind = OPTION_POSITIVE, .value = &settings.block[X], .help = "nodes of a block along x (16)", .most = 1024},
        {.name = "--block-y", .kind = OPTION_POSITIVE, .value = &settings.block[Y], .help = "nodes of a block along y (8)", .most = 1024},
        {.name = "--block-z", .kind = OPTION_POSITIVE, .value = &settings.block[Z], .help = "nodes of a block along z (16)", .most = 1024},
        {.name = "--depth", .kind = OPTION_POSITIVE, .value = &settings.depth, .help = "blocks of a rank at a time (3)", .most = DEPTH_MAX},
        {.name = "--cores", .kind = OPTION_POSITIVE, .value = &settings.cores, .help = "cores of a rank (16 with blocks, else 1)", .most = 4096},
        {.name = "--ddrs", .kind = OPTION_POSITIVE, .value = &settings.ddrs, .help = "I/O subsystems with a lattice each (1)", .most = 2},
        {.name = "--formulas", .kind = OPTION_FLAG, .value = &settings.formulas, .help = "print what the thesis computes on paper"},
        {.name = "--mhz", .kind = OPTION_FRACTION, .value = &settings.mhz, .help = "clock for cycles= (400)"},
    };
    MPI_Init(&argc, &argv);
    Global global = global_roles();
    OptionsRead read = options_read(argc, argv, "lbm: lattice Boltzmann by several algorithms", options, sizeof options / sizeof *options);
    read = global_told(read, &settings, sizeof settings);
    if (!read.ends) {
        if (!settings.formulas) read.status = run(&settings, &global);
        else if (global.rank == 0) print_formulas();
    }
    MPI_Finalize();
    return read.status;
}
