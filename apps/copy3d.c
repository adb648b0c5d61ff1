/* copy3d: blocks of a three-dimensional array in the common memory, copied to the ranks and back, as one row of bytes and as boxes.
 *
 * After the unit test of Ho's thesis (section 5.5.2): every rank that computes moves boxes of the array that is its own, node by node
 * of 19 floats, and for comparison as many bytes from one place to another without gaps. On a chip with an I/O rank (--io) the
 * array lies in the DDR of the I/O subsystem, else in rank 0's window. No work is declared.
 *
 * Four kinds of transfers are measured: linear and box, each as gets and as puts, --depth of them under way at a time. Puts write
 * what a formula says for the place and the turn; gets are compared with it, and the owner compares the whole array after each kind of put.
 *
 * Prints a line for each kind: app=copy3d kind=linear|box way=get|put ranks= box=XxYxZ depth= bytes= rate=MB/s check= result= time= cycles=,
 * where bytes are those of all ranks, rate is theirs together, and result is the number of elements that were compared.             */
#include "common/compute.h"
#include "common/global.h"
#include "common/random.h"
#include "common/report.h"
#include "common/roles.h"

enum { NODE_FLOATS = 19, DEPTH_MAX = 16 };

typedef struct {
    int box[3];   /* nodes; x lies side by side */
    int boxes[3]; /* of the array */
    int depth, rounds, ddrs;
    double mhz;
} Settings;

/* An array in the window, cut into as many boxes, each a slice of it or of a row of nodes. */
typedef struct {
    GlobalArray array;
    int block[3];
    bool linear;
} Shape;

static int64_t box_nodes(const Settings *settings) { return (int64_t)settings->box[0] * settings->box[1] * settings->box[2]; }

static int box_count(const Settings *settings) { return settings->boxes[0] * settings->boxes[1] * settings->boxes[2]; }

static Shape shape_of(const Settings *settings, bool linear, MPI_Datatype node)
{
    Shape shape = {.linear = linear, .array = {.ndims = linear ? 1 : 3, .element = node}};
    if (linear) {
        shape.block[0] = (int)box_nodes(settings);
        shape.array.extents[0] = shape.block[0] * box_count(settings);
        return shape;
    }
    for (int i = 0; i < 3; i++) {
        shape.block[i] = settings->box[2 - i];
        shape.array.extents[i] = settings->box[2 - i] * settings->boxes[2 - i];
    }
    return shape;
}

/* Where box `number` begins, in the order of the array's dimensions. */
static void box_starts(const Settings *settings, const Shape *shape, int number, int starts[3])
{
    if (shape->linear) {
        starts[0] = number * shape->block[0];
        return;
    }
    starts[0] = number / (settings->boxes[0] * settings->boxes[1]) * settings->box[2];
    starts[1] = number / settings->boxes[0] % settings->boxes[1] * settings->box[1];
    starts[2] = number % settings->boxes[0] * settings->box[0];
}

/* The value of a float of the array at its place, after a turn of puts. Whole numbers of 24 bits, so that floats hold them. */
static float value_at(int64_t place, int turn) { return (float)(random_at((uint64_t)turn, (uint64_t)place) >> 40); }

/* The place in the array of a node of a box, counted as the box lies in local memory. */
static int64_t node_place(const Shape *shape, const int starts[3], int64_t node)
{
    if (shape->linear) return starts[0] + node;
    int64_t x = starts[2] + node % shape->block[2];
    int64_t y = starts[1] + node / shape->block[2] % shape->block[1];
    int64_t z = starts[0] + node / ((int64_t)shape->block[2] * shape->block[1]);
    return (z * shape->array.extents[1] + y) * shape->array.extents[2] + x;
}

/* What one measurement found, of a rank. */
typedef struct {
    int64_t bytes, compared, wrong;
    double seconds;
} Found;

/* Works on the floats of a box in local memory: writes what they should be, or compares. */
static void fill_box(const Settings *settings, const Shape *shape, const int starts[3], int turn, float *local)
{
    for (int64_t node = 0; node < box_nodes(settings); node++)
        for (int i = 0; i < NODE_FLOATS; i++) local[node * NODE_FLOATS + i] = value_at(node_place(shape, starts, node) * NODE_FLOATS + i, turn);
}

static void compare_box(const Settings *settings, const Shape *shape, const int starts[3], int turn, const float *local, Found *found)
{
    for (int64_t node = 0; node < box_nodes(settings); node++)
        for (int i = 0; i < NODE_FLOATS; i++) {
            found->compared++;
            found->wrong += local[node * NODE_FLOATS + i] != value_at(node_place(shape, starts, node) * NODE_FLOATS + i, turn);
        }
}

/* Moves this rank's boxes, so many at once; what is compared or made is outside of the measured time. */
static Found move(const Settings *settings, const Global *global, const Shape *shape, bool puts, int turn, float *const slots[])
{
    Found found = {0};
    const int corner[3] = {0, 0, 0};
    int first = (int)part_begin(box_count(settings), global->workers, global->worker);
    int last = (int)part_begin(box_count(settings), global->workers, global->worker + 1);
    for (int round = 0; round < settings->rounds; round++)
        for (int from = first; from < last; from += settings->depth) {
            MPI_Request events[DEPTH_MAX];
            int count = last - from < settings->depth ? last - from : settings->depth, starts[DEPTH_MAX][3] = {{0}};
            for (int i = 0; i < count; i++) {
                box_starts(settings, shape, from + i, starts[i]);
                if (puts) fill_box(settings, shape, starts[i], turn, slots[i]);
                else memset(slots[i], 0, (size_t)box_nodes(settings) * NODE_FLOATS * sizeof(float));
            }
            double begin = MPI_Wtime();
            for (int i = 0; i < count; i++) {
                LocalPart part = {.data = slots[i], .extents = shape->block, .starts = corner};
                if (puts) global_put(global, &shape->array, starts[i], shape->block, part, &events[i]);
                else global_get(global, &shape->array, starts[i], shape->block, part, &events[i]);
            }
            MPI_Waitall(count, events, MPI_STATUSES_IGNORE);
            if (puts) MPI_Win_flush(global->owner, global->win);
            found.seconds += MPI_Wtime() - begin;
            found.bytes += count * box_nodes(settings) * NODE_FLOATS * (int64_t)sizeof(float);
            for (int i = 0; !puts && i < count; i++) compare_box(settings, shape, starts[i], turn, slots[i], &found);
        }
    return found;
}

/* The owner looks at the whole array. */
static void compare_array(const Settings *settings, const Global *global, int turn, Found *found)
{
    const float *array = global->memory;
    for (int64_t place = 0; place < box_nodes(settings) * box_count(settings) * NODE_FLOATS; place++) {
        found->compared++;
        found->wrong += array[place] != value_at(place, turn);
    }
}

/* One kind of transfer, by all; returns whether everything was right. */
static bool measure(const Settings *settings, const Global *global, const Shape *shape, bool puts, int turn, float *const slots[])
{
    Found found = {0};
    global_meet_all(global);
    if (global->worker >= 0) found = move(settings, global, shape, puts, turn, slots);
    global_meet_all(global);
    if (puts && global->owns) compare_array(settings, global, turn, &found);
    int64_t sums[3] = {found.bytes, found.compared, found.wrong};
    double seconds = found.seconds;
    MPI_Allreduce(MPI_IN_PLACE, sums, 3, MPI_INT64_T, MPI_SUM, MPIX_COMM_LOCAL);
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPIX_COMM_LOCAL);
    if (global->rank == 0) {
        printf("app=copy3d kind=%s way=%s ranks=%d box=%dx%dx%d depth=%d bytes=%lld rate=%.1f check=%s result=%lld", shape->linear ? "linear" : "box",
               puts ? "put" : "get", global->workers, settings->box[0], settings->box[1], settings->box[2], settings->depth, (long long)sums[0],
               (double)sums[0] / seconds / 1e6, sums[2] == 0 ? "passed" : "failed", (long long)sums[1]);
        report_time(seconds, settings->mhz);
    }
    return sums[2] == 0;
}

/* Whether places in the array are numbers of MPI. */
static bool is_countable(const Settings *settings)
{
    double floats = (double)box_nodes(settings) * box_count(settings) * NODE_FLOATS;
    return floats <= INT32_MAX;
}

static bool measure_all(const Settings *settings, Global *global)
{
    MPI_Datatype node;
    MPI_Type_contiguous(NODE_FLOATS, MPI_FLOAT, &node);
    MPI_Type_commit(&node);
    MPI_Aint bytes = (MPI_Aint)(box_nodes(settings) * box_count(settings) * NODE_FLOATS) * (MPI_Aint)sizeof(float);
    global_open(global, bytes);
    global_divide(global, settings->ddrs, bytes / 2, bytes - bytes / 2);
    float *slots[DEPTH_MAX];
    for (int i = 0; i < settings->depth && global->worker >= 0; i++)
        slots[i] = room((size_t)box_nodes(settings) * NODE_FLOATS, sizeof(float));
    bool right = true;
    for (int linear = 1; linear >= 0; linear--) {
        Shape shape = shape_of(settings, linear, node);
        right &= measure(settings, global, &shape, true, linear, slots);
        right &= measure(settings, global, &shape, false, linear, slots);
    }
    for (int i = 0; i < settings->depth && global->worker >= 0; i++) free(slots[i]);
    global_close(global);
    MPI_Type_free(&node);
    return right;
}

int main(int argc, char **argv)
{
    Settings settings = {.box = {16, 8, 16}, .boxes = {4, 4, 4}, .depth = 3, .rounds = 1, .ddrs = 1, .mhz = ANDEY_MHZ};
    const Option options[] = {
        {.name = "--box-x", .kind = OPTION_POSITIVE, .value = &settings.box[0], .help = "nodes of a box side by side (16)", .most = 1024},
        {.name = "--box-y", .kind = OPTION_POSITIVE, .value = &settings.box[1], .help = "rows of a box (8)", .most = 1024},
        {.name = "--box-z", .kind = OPTION_POSITIVE, .value = &settings.box[2], .help = "planes of a box (16)", .most = 1024},
        {.name = "--boxes-x", .kind = OPTION_POSITIVE, .value = &settings.boxes[0], .help = "boxes of the array side by side (4)", .most = 64},
        {.name = "--boxes-y", .kind = OPTION_POSITIVE, .value = &settings.boxes[1], .help = "rows of boxes (4)", .most = 64},
        {.name = "--boxes-z", .kind = OPTION_POSITIVE, .value = &settings.boxes[2], .help = "planes of boxes (4)", .most = 64},
        {.name = "--depth", .kind = OPTION_POSITIVE, .value = &settings.depth, .help = "transfers of a rank under way (3)", .most = DEPTH_MAX},
        {.name = "--rounds", .kind = OPTION_POSITIVE, .value = &settings.rounds, .help = "times that each box is moved (1)"},
        {.name = "--ddrs", .kind = OPTION_POSITIVE, .value = &settings.ddrs, .help = "I/O subsystems: with two, half of the array in each (1)", .most = 2},
        {.name = "--mhz", .kind = OPTION_FRACTION, .value = &settings.mhz, .help = "clock for cycles= (400)"},
    };
    MPI_Init(&argc, &argv);
    declare_nothing();
    Global global = global_roles();
    OptionsRead read = options_read(argc, argv, "copy3d: blocks of an array in the common memory", options, sizeof options / sizeof *options);
    if (!read.ends && !is_countable(&settings)) {
        if (global.rank == 0) fprintf(stderr, "copy3d: an array of more floats than 2^31, expected a smaller one\n");
        read = (OptionsRead){.ends = true, .status = 2};
    }
    read = global_told(read, &settings, sizeof settings);
    if (!read.ends && !measure_all(&settings, &global)) read.status = 1;
    MPI_Finalize();
    return read.status;
}
