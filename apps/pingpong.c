/* Ping-pong between two ranks, as MPPA-MPI's authors measured it: both send in the same way, 50 times for each size.
 *
 * Two durations are measured. That of the send call is what the papers fit by K x N + h: where a send waits for its receiver
 * it is the transmission time, where it does not (eager, lazy) it is the time until the sender may go on. Half the round trip is
 * what a message takes whatever the sender does meanwhile. One exchange that is not measured comes first.
 *
 * The I/O rank, which is started without words of its own, plays what rank 0 was told; it is in MPIX_COMM_LOCAL only.
 *
 * --send raw plays with the mailboxes and portals of the chip's system (common/channel.h).
 *
 * Prints two lines for each size, one for each direction:
 *     app=pingpong from= to= send= bytes= repetitions= result=ok half_time= half_cycles= time= cycles=
 * where time and cycles are the mean duration of the send call.                                                   */
#include <corelace.h>

#include "common/channel.h"
#include "common/compute.h"
#include "common/options.h"
#include "common/report.h"
#include "common/timed_send.h"

enum { SIZES_MAX = 64 };

/* The kinds of send that are MPI's, and mailboxes and portals by hand. */
enum { SEND_RAW = SEND_NONBLOCKING + 1 };

/* Where the messages are: memory of the program's own, or what MPI_Alloc_mem gives. On MPI/ES these are of two kinds. */
enum { LMEM, GMEM };

/* What is to be played, as everybody has it from rank 0. */
typedef struct {
    bool ends; /* at once, with this status */
    int status;
    int from, to, io; /* ranks of MPIX_COMM_LOCAL; io is -1 if there is none */
    int repetitions, kind, memory, count;
    double mhz;
    int64_t sizes[SIZES_MAX];
} Plan;

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

/* Seconds of a send in the way that the plan says. */
static double send_to(const Plan *plan, Channel *channel, int peer, const unsigned char *message, int bytes)
{
    if (plan->kind != SEND_RAW) return timed_send((SendKind)plan->kind, message, bytes, peer, MPIX_COMM_LOCAL);
    double begin = MPI_Wtime();
    channel_send(channel, peer, message, bytes);
    return MPI_Wtime() - begin;
}

/* One rank of the two; `first` sends first. */
static Means play(const Plan *plan, int peer, bool first, unsigned char *message, int bytes)
{
    double sending = 0, begin = 0;
    Channel channel = channel_open(plan->kind == SEND_RAW);
    for (int i = -1; i < plan->repetitions; i++) {
        if (i == 0) begin = MPI_Wtime();
        double duration = 0;
        if (first) {
            memset(message, (unsigned char)i, (size_t)bytes);
            duration = send_to(plan, &channel, peer, message, bytes);
        }
        if (channel.raw) channel_receive(&channel, peer, message, bytes);
        else MPI_Recv(message, bytes, MPI_BYTE, peer, 0, MPIX_COMM_LOCAL, MPI_STATUS_IGNORE);
        expect(message, bytes, i);
        if (!first) duration = send_to(plan, &channel, peer, message, bytes);
        if (i >= 0) sending += duration;
    }
    double all = MPI_Wtime() - begin;
    channel_close(&channel);
    return (Means){.send = sending / plan->repetitions, .half = all / plan->repetitions / 2};
}

static void print_rank(const Plan *plan, const char *role, int rank)
{
    if (rank == plan->io) printf(" %s=io", role);
    else printf(" %s=%d", role, rank);
}

static void print_direction(const Plan *plan, int from, int to, int bytes, double send, double half)
{
    printf("app=pingpong");
    print_rank(plan, "from", from);
    print_rank(plan, "to", to);
    const char *kind = plan->kind == SEND_RAW ? "raw" : send_kind_name((SendKind)plan->kind);
    printf(" send=%s bytes=%d repetitions=%d result=ok", kind, bytes, plan->repetitions);
    printf(" half_time=%.9fs half_cycles=%.1f", half, half * plan->mhz * 1e6);
    report_time(send, plan->mhz);
}

static void measure(const Plan *plan, int rank, int bytes)
{
    enum { RESULT = 1 };
    unsigned char *message;
    if (plan->memory == GMEM) MPI_Alloc_mem(bytes, MPI_INFO_NULL, &message);
    else message = room((size_t)bytes, 1);
    bool first = rank == plan->from;
    Means means = play(plan, first ? plan->to : plan->from, first, message, bytes);
    if (first) {
        Means theirs;
        MPI_Recv(&theirs, 2, MPI_DOUBLE, plan->to, RESULT, MPIX_COMM_LOCAL, MPI_STATUS_IGNORE);
        print_direction(plan, plan->from, plan->to, bytes, means.send, means.half);
        print_direction(plan, plan->to, plan->from, bytes, theirs.send, means.half);
    } else {
        MPI_Send(&means, 2, MPI_DOUBLE, plan->from, RESULT, MPIX_COMM_LOCAL);
    }
    if (plan->memory == GMEM) MPI_Free_mem(message);
    else free(message);
}

/* The rank with this number or, for "io", the I/O rank; -1 if there is none. */
static int rank_named(const char *name, int ranks, int io)
{
    if (strcmp(name, "io") == 0) return io;
    int64_t number;
    return option_numbers(name, &number, 1) == 1 && number < ranks ? (int)number : -1;
}

/* What the words of the command line ask for, by rank 0 of all. */
static Plan plan_from(int argc, char **argv)
{
    Plan plan = {.repetitions = 50, .mhz = ANDEY_MHZ};
    const char *from = "0", *to = "1", *sizes = "1,32,64,96,128,256,512,1024,2048,4096,8192,16384,32768,65536,131072,262144";
    const Option options[] = {
        {.name = "--from", .kind = OPTION_TEXT, .value = &from, .help = "the rank that begins, or io (0)"},
        {.name = "--to", .kind = OPTION_TEXT, .value = &to, .help = "its peer, or io (1)"},
        {.name = "--sizes", .kind = OPTION_TEXT, .value = &sizes, .help = "bytes, separated by commas (1 to 262144)"},
        {.name = "--repeat", .kind = OPTION_POSITIVE, .value = &plan.repetitions, .help = "exchanges of each size (50)"},
        {.name = "--send", .kind = OPTION_CHOICE, .value = &plan.kind, .help = "by both", .words = SEND_KINDS "|raw"},
        {.name = "--memory", .kind = OPTION_CHOICE, .value = &plan.memory, .help = "of the messages", .words = "lmem|gmem"},
        {.name = "--mhz", .kind = OPTION_FRACTION, .value = &plan.mhz, .help = "clock for cycles= (400)"},
    };
    OptionsRead read = options_read(argc, argv, "pingpong: two ranks", options, sizeof options / sizeof *options);
    plan.ends = read.ends;
    plan.status = read.status;
    if (plan.ends) return plan;

    int ranks, others;
    MPI_Comm_size(MPIX_COMM_LOCAL, &ranks);
    MPI_Comm_size(MPI_COMM_WORLD, &others);
    plan.io = others < ranks ? ranks - 1 : -1;
    plan.from = rank_named(from, ranks, plan.io);
    plan.to = rank_named(to, ranks, plan.io);
    plan.count = option_numbers(sizes, plan.sizes, SIZES_MAX);
    bool fits = true;
    for (int i = 0; i < plan.count; i++) fits = fits && plan.sizes[i] <= INT32_MAX;
    if (plan.from < 0 || plan.to < 0 || plan.from == plan.to || plan.count < 0 || !fits) {
        fprintf(stderr, "pingpong: cannot play from %s to %s of %d ranks with sizes %s\n", from, to, ranks, sizes);
        plan.ends = true;
        plan.status = 2;
    }
    return plan;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    declare_nothing();
    int rank;
    MPI_Comm_rank(MPIX_COMM_LOCAL, &rank);
    Plan plan;
    if (rank == 0) plan = plan_from(argc, argv);
    MPI_Bcast(&plan, sizeof plan, MPI_BYTE, 0, MPIX_COMM_LOCAL);
    if (!plan.ends && (rank == plan.from || rank == plan.to))
        for (int i = 0; i < plan.count; i++) measure(&plan, rank, (int)plan.sizes[i]);
    MPI_Finalize();
    return plan.status;
}
