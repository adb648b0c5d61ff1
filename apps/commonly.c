/* Communication only, as DCFA-MPI's authors compared it with offloading (table II): two ranks send X bytes to each other and receive X bytes, again and again,
 * without blocking. Where hosts offload, what is sent comes from the card and what is received goes there, a copy each way; the card's part of an
 * iteration is an offloaded region. With two sets of buffers the copies and the region of one set overlap with the messages of the other, which is what
 * the authors did; --plain does one after the other.
 *
 * Every byte that comes is compared with what its sender must have sent: a function of the sender, the iteration and the place.
 *
 * Prints a line for each size:
 *     app=commonly mode= ranks= bytes= repetitions= check= result=ok time= cycles=
 * where time is that of an iteration. Two iterations that are not measured come first, one for each set of buffers.                    */
#include "common/offload.h"
#include "common/options.h"
#include "common/report.h"

enum { SIZES_MAX = 64, SETS = 2 };

/* What is to be measured of one size. */
typedef struct {
    int bytes, repetitions;
    bool plain, fresh;
} Plan;

static unsigned char byte_of(int sender, int iteration, int at) { return (unsigned char)(sender * 131 + iteration * 7 + at); }

static void fill(unsigned char *data, int bytes, int sender, int iteration)
{
    for (int i = 0; i < bytes; i++) data[i] = byte_of(sender, iteration, i);
}

static bool is_right(const unsigned char *data, int bytes, int sender, int iteration)
{
    for (int i = 0; i < bytes; i++)
        if (data[i] != byte_of(sender, iteration, i)) return false;
    return true;
}

static int begin_exchange(const Place *place, unsigned char *out, unsigned char *in, int bytes, MPI_Request requests[2])
{
    int peer = 1 - place->rank;
    MPI_Irecv(in, bytes, MPI_BYTE, peer, 0, place->comm, &requests[0]);
    MPI_Isend(out, bytes, MPI_BYTE, peer, 0, place->comm, &requests[1]);
    return 2;
}

/* All on this rank: seconds of an iteration. With `fresh` every iteration has memory of its own. */
static double exchange_all(const Place *place, const Plan *plan, bool *right)
{
    int sets = plan->fresh ? plan->repetitions + SETS : 1;
    unsigned char *memory = room((size_t)sets * 2, (size_t)plan->bytes);
    double begin = 0, checking = 0;
    for (int i = -SETS; i < plan->repetitions; i++) {
        if (i == 0) {
            MPI_Barrier(place->comm);
            begin = MPI_Wtime();
            checking = 0;
        }
        unsigned char *out = memory + (size_t)((i + SETS) % sets) * 2 * (size_t)plan->bytes, *in = out + plan->bytes;
        double data = MPI_Wtime();
        fill(out, plan->bytes, place->rank, i);
        checking += MPI_Wtime() - data;
        MPI_Request requests[2];
        MPI_Waitall(begin_exchange(place, out, in, plan->bytes, requests), requests, MPI_STATUSES_IGNORE);
        data = MPI_Wtime();
        *right = *right && is_right(in, plan->bytes, 1 - place->rank, i);
        checking += MPI_Wtime() - data;
    }
    double each = (MPI_Wtime() - begin - checking) / plan->repetitions;
    free(memory);
    return each;
}

/* The card: it looks at what came for a set of buffers and writes what is to leave next. */
static void serve(const Place *place, int bytes)
{
    enum { NEVER = -1 };
    int came[SETS] = {NEVER, NEVER}, iterations[SETS] = {0, 0};
    for (int what; (what = offload_wait(place)) != OFFLOAD_ENDS;) {
        unsigned char *out = (unsigned char *)place->memory + (size_t)what * 2 * (size_t)bytes, *in = out + bytes;
        bool right = came[what] == NEVER || is_right(in, bytes, 1 - place->rank, came[what]);
        came[what] = SETS * iterations[what]++ + what;
        fill(out, bytes, place->rank, came[what]);
        offload_answer(place, right);
    }
}

/* A host: the region of one set while the messages of the other travel. */
static double exchange_by_host(const Place *place, const Plan *plan, bool *right)
{
    size_t bytes = (size_t)plan->bytes;
    unsigned char *memory = room(2 * SETS, bytes);
    double begin = 0;
    for (int i = -SETS; i < plan->repetitions; i++) {
        if (i == 0) {
            MPI_Barrier(place->comm);
            begin = MPI_Wtime();
        }
        int set = (i + SETS) % SETS;
        unsigned char *out = memory + (size_t)set * 2 * bytes, *in = out + bytes;
        unsigned char *others_out = memory + (size_t)(1 - set) * 2 * bytes;
        MPI_Request requests[2];
        int under_way = 0;
        if (!plan->plain && i > -SETS) under_way = begin_exchange(place, others_out, others_out + bytes, plan->bytes, requests);
        if (i >= 0) copy_in(place, in, ((size_t)set * 2 + 1) * bytes, plan->bytes);
        *right = offload(place, set) && *right;
        copy_out(place, out, (size_t)set * 2 * bytes, plan->bytes);
        if (plan->plain) under_way = begin_exchange(place, out, in, plan->bytes, requests);
        MPI_Waitall(under_way, requests, MPI_STATUSES_IGNORE);
    }
    double each = (MPI_Wtime() - begin) / plan->repetitions;
    offload(place, OFFLOAD_ENDS);
    free(memory);
    return each;
}

static bool measure(Mode mode, const Plan *plan, double mhz)
{
    Place place = place_of(mode, (size_t)plan->bytes * 2 * SETS);
    bool right = true;
    double each = 0;
    if (place.is_card) serve(&place, plan->bytes);
    else each = place.has_card ? exchange_by_host(&place, plan, &right) : exchange_all(&place, plan, &right);
    int rank, mine = right, all;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("app=commonly mode=%s ranks=%d bytes=%d repetitions=%d check=%s result=ok", MODE_NAMES[mode], place.ranks, plan->bytes,
               plan->repetitions, all ? "passed" : "failed");
        report_time(each, mhz);
    }
    place_free(&place);
    return all;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, ranks, mode = MODE_DCFA, repetitions = 10;
    bool plain = false, fresh = false;
    double mhz = ANDEY_MHZ;
    const char *sizes = "4,64,1024,8192,65536,524288,1048576";
    const Option options[] = {
        {.name = "--mode", .kind = OPTION_CHOICE, .value = &mode, .help = "who communicates", .words = MODE_WORDS},
        {.name = "--sizes", .kind = OPTION_TEXT, .value = &sizes, .help = "bytes, separated by commas (4 to 1048576)"},
        {.name = "--repeat", .kind = OPTION_POSITIVE, .value = &repetitions, .help = "iterations of each size (10)"},
        {.name = "--plain", .kind = OPTION_FLAG, .value = &plain, .help = "offloading does not overlap with messages"},
        {.name = "--fresh", .kind = OPTION_FLAG, .value = &fresh, .help = "every iteration has buffers of its own (not with offload)"},
        {.name = "--mhz", .kind = OPTION_FRACTION, .value = &mhz, .help = "clock for cycles= (400)"},
    };
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    OptionsRead read = options_read(argc, argv, "commonly: two ranks, or two hosts and two cards", options, sizeof options / sizeof *options);
    int64_t bytes[SIZES_MAX];
    int count = read.ends ? 0 : option_numbers(sizes, bytes, SIZES_MAX);
    bool fits = ranks == (mode == MODE_OFFLOAD ? 4 : 2) && count >= 0;
    for (int i = 0; i < count; i++) fits = fits && bytes[i] >= 1 && bytes[i] <= INT32_MAX / 8;
    if (!read.ends && !fits) {
        if (rank == 0) fprintf(stderr, "commonly: cannot play %s with %d ranks and sizes %s\n", MODE_NAMES[mode], ranks, sizes);
        read = (OptionsRead){.ends = true, .status = 2};
    }
    for (int i = 0; i < count && !read.ends; i++) {
        Plan plan = {.bytes = (int)bytes[i], .repetitions = repetitions, .plain = plain, .fresh = fresh};
        if (!measure((Mode)mode, &plan, mhz)) read = (OptionsRead){.ends = true, .status = 1};
    }
    MPI_Finalize();
    return read.status;
}
