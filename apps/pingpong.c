/* Ping-pong between two ranks, as MPPA-MPI's authors measured it: both send in the same way, 50 times for each size.
 *
 * Two durations are measured. That of the send call is what the papers fit by K x N + h: where a send waits for its receiver
 * it is the transmission time, where it does not (eager, lazy) it is the time until the sender may go on. Half the round trip is
 * what a message takes whatever the sender does meanwhile. One exchange that is not measured comes first.
 *
 * Prints two lines for each size, one for each direction:
 *     app=pingpong from= to= send= bytes= repetitions= result=ok half_time= half_cycles= time= cycles=
 * where time and cycles are the mean duration of the send call.                                                   */
#include <corelace.h>

#include "common/options.h"
#include "common/report.h"
#include "common/timed_send.h"

enum { SIZES_MAX = 64 };

typedef struct {
    const char *from, *to, *sizes;
    int repetitions, kind;
    double mhz;
} Settings;

/* Mean durations in seconds, as one rank sees them. */
typedef struct {
    double send, half;
} Means;

static void expect(const unsigned char *message, int bytes, int repetition)
{
    unsigned char mark = (unsigned char)repetition;
    if (bytes > 0 && (message[0] != mark || message[bytes - 1] != mark)) {
        fprintf(stderr, "pingpong: message %d of %d bytes came with other contents\n", repetition, bytes);
        MPI_Abort(MPIX_COMM_LOCAL, 1);
    }
}

/* One rank of the two; `first` sends first. */
static Means play(const Settings *settings, int peer, bool first, unsigned char *message, int bytes)
{
    double sending = 0, begin = 0;
    for (int i = -1; i < settings->repetitions; i++) {
        if (i == 0) begin = MPI_Wtime();
        double duration = 0;
        if (first) {
            memset(message, (unsigned char)i, (size_t)bytes);
            duration = timed_send((SendKind)settings->kind, message, bytes, peer, MPIX_COMM_LOCAL);
        }
        MPI_Recv(message, bytes, MPI_BYTE, peer, 0, MPIX_COMM_LOCAL, MPI_STATUS_IGNORE);
        expect(message, bytes, i);
        if (!first) duration = timed_send((SendKind)settings->kind, message, bytes, peer, MPIX_COMM_LOCAL);
        if (i >= 0) sending += duration;
    }
    double all = MPI_Wtime() - begin;
    return (Means){.send = sending / settings->repetitions, .half = all / settings->repetitions / 2};
}

static void print_direction(const Settings *settings, const char *from, const char *to, int bytes, double send, double half)
{
    printf("app=pingpong from=%s to=%s send=%s bytes=%d repetitions=%d result=ok", from, to,
           send_kind_name((SendKind)settings->kind), bytes, settings->repetitions);
    printf(" half_time=%.9fs half_cycles=%.1f", half, half * settings->mhz * 1e6);
    report_time(send, settings->mhz);
}

static void measure(const Settings *settings, int rank, int from, int to, int bytes)
{
    enum { RESULT = 1 };
    unsigned char *message = room((size_t)bytes, 1);
    Means means = play(settings, rank == from ? to : from, rank == from, message, bytes);
    if (rank == to) {
        MPI_Send(&means, 2, MPI_DOUBLE, from, RESULT, MPIX_COMM_LOCAL);
    } else {
        Means theirs;
        MPI_Recv(&theirs, 2, MPI_DOUBLE, to, RESULT, MPIX_COMM_LOCAL, MPI_STATUS_IGNORE);
        print_direction(settings, settings->from, settings->to, bytes, means.send, means.half);
        print_direction(settings, settings->to, settings->from, bytes, theirs.send, means.half);
    }
    free(message);
}

/* A rank of MPIX_COMM_LOCAL by number, or "io" for the I/O rank, which is its last and in no MPI_COMM_WORLD of others; -1 if
 * there is none. */
static int rank_named(const char *name, int ranks)
{
    if (strcmp(name, "io") == 0) {
        int here, others;
        MPIX_Io_rank(&here);
        MPI_Comm_size(MPI_COMM_WORLD, &others);
        return here || others < ranks ? ranks - 1 : -1;
    }
    int64_t number;
    return option_numbers(name, &number, 1) == 1 && number < ranks ? (int)number : -1;
}

static int run(const Settings *settings)
{
    int rank, ranks;
    MPI_Comm_rank(MPIX_COMM_LOCAL, &rank);
    MPI_Comm_size(MPIX_COMM_LOCAL, &ranks);
    int from = rank_named(settings->from, ranks), to = rank_named(settings->to, ranks);
    int64_t sizes[SIZES_MAX];
    int count = option_numbers(settings->sizes, sizes, SIZES_MAX);
    for (int i = 0; i < count; i++)
        if (sizes[i] > INT32_MAX) count = -1;
    if (from < 0 || to < 0 || from == to || count < 0) {
        if (rank == 0)
            fprintf(stderr, "pingpong: cannot play from %s to %s of %d ranks with sizes %s\n", settings->from, settings->to,
                    ranks, settings->sizes);
        return 2;
    }
    if (rank == from || rank == to)
        for (int i = 0; i < count; i++) measure(settings, rank, from, to, (int)sizes[i]);
    MPI_Barrier(MPIX_COMM_LOCAL);
    return 0;
}

int main(int argc, char **argv)
{
    Settings settings = {.from = "0",
                         .to = "1",
                         .sizes = "1,32,64,96,128,256,512,1024,2048,4096,8192,16384,32768,65536,131072,262144",
                         .repetitions = 50,
                         .mhz = ANDEY_MHZ};
    const Option options[] = {
        {.name = "--from", .kind = OPTION_TEXT, .value = &settings.from, .help = "the rank that begins, or io (0)"},
        {.name = "--to", .kind = OPTION_TEXT, .value = &settings.to, .help = "its peer, or io (1)"},
        {.name = "--sizes", .kind = OPTION_TEXT, .value = &settings.sizes, .help = "bytes, separated by commas (1 to 262144)"},
        {.name = "--repeat", .kind = OPTION_POSITIVE, .value = &settings.repetitions, .help = "exchanges of each size (50)"},
        {.name = "--send", .kind = OPTION_CHOICE, .value = &settings.kind, .help = "by both", .words = SEND_KINDS},
        {.name = "--mhz", .kind = OPTION_FRACTION, .value = &settings.mhz, .help = "clock for cycles= (400)"},
    };
    MPI_Init(&argc, &argv);
    OptionsRead read = options_read(argc, argv, "pingpong: two ranks", options, sizeof options / sizeof *options);
    int status = read.ends ? read.status : run(&settings);
    MPI_Finalize();
    return status;
}
