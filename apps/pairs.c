/* Pairs: streams of messages between several pairs of ranks at once, to see what they take from each other.
 *
 * For each number of pairs the first so many of the list send at the same time; the others wait. Which pairs share a link is a
 * matter of the chip's routes: --pairs names them. Without it rank i sends to rank i + n/2.
 *
 * Prints a line for each number of pairs: app=pairs send= pairs= bytes= repetitions= result=ok rate= slowdown= time= cycles=,
 * where the time is that of one message of the slowest pair, rate= its bytes in MB/s, and slowdown= its time over that of the
 * first number of pairs measured.                                                                                */
#include "common/compute.h"
#include "common/options.h"
#include "common/report.h"
#include "common/timed_send.h"

enum { PAIRS_MAX = 256, STEPS_MAX = 32 };

typedef struct {
    const char *pairs, *at_once;
    int bytes, repetitions, kind;
    double mhz;
} Settings;

typedef struct {
    int from, to;
} Pair;

/* "0-3,1-2": returns how many pairs, or -1 if a word is none or a rank is in two. */
static int read_pairs(const char *text, int ranks, Pair *pairs)
{
    int count = 0;
    for (const char *at = text; *at != '\0';) {
        int length = 0;
        Pair pair;
        if (count == PAIRS_MAX || sscanf(at, "%d-%d%n", &pair.from, &pair.to, &length) != 2) return -1;
        if (pair.from < 0 || pair.to < 0 || pair.from >= ranks || pair.to >= ranks || pair.from == pair.to) return -1;
        for (int i = 0; i < count; i++)
            if (pairs[i].from == pair.from || pairs[i].to == pair.from || pairs[i].from == pair.to || pairs[i].to == pair.to)
                return -1;
        pairs[count++] = pair;
        at += length;
        if (*at == ',') at++;
        else if (*at != '\0') return -1;
    }
    return count;
}

static int halves(int ranks, Pair *pairs)
{
    int count = ranks / 2 < PAIRS_MAX ? ranks / 2 : PAIRS_MAX;
    for (int i = 0; i < count; i++) pairs[i] = (Pair){.from = i, .to = i + ranks / 2};
    return count;
}

/* The sender's mean time for a message, from the first call until the receiver has answered that it has the last one. */
static double stream(const Settings *settings, Pair pair, bool sends, void *message)
{
    enum { WARM_UP = 1 };
    double begin = 0;
    for (int i = -WARM_UP; i < settings->repetitions; i++) {
        if (i == 0) begin = MPI_Wtime();
        if (sends) timed_send((SendKind)settings->kind, message, settings->bytes, pair.to, MPI_COMM_WORLD);
        else MPI_Recv(message, settings->bytes, MPI_BYTE, pair.from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (sends) MPI_Recv(NULL, 0, MPI_BYTE, pair.to, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else MPI_Send(NULL, 0, MPI_BYTE, pair.from, 0, MPI_COMM_WORLD);
    return (MPI_Wtime() - begin) / settings->repetitions;
}

/* Time of a message of the slowest of the first `count` pairs. */
static double measure(const Settings *settings, const Pair *pairs, int count, int rank, void *message)
{
    double mine = 0, slowest;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < count; i++)
        if (rank == pairs[i].from || rank == pairs[i].to) mine = stream(settings, pairs[i], rank == pairs[i].from, message);
    MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest;
}

static int run(const Settings *settings)
{
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    Pair pairs[PAIRS_MAX];
    int64_t steps[STEPS_MAX];
    int known = settings->pairs != NULL ? read_pairs(settings->pairs, ranks, pairs) : halves(ranks, pairs);
    int measured = option_numbers(settings->at_once, steps, STEPS_MAX);
    for (int i = 0; i < measured; i++)
        if (steps[i] < 1 || steps[i] > known) measured = -1;
    if (known < 1 || measured < 1) {
        if (rank == 0)
            fprintf(stderr, "pairs: cannot have %s at once of the pairs %s among %d ranks\n", settings->at_once,
                    settings->pairs != NULL ? settings->pairs : "i to i + n/2", ranks);
        return 2;
    }
    void *message = room((size_t)settings->bytes, 1);
    double first = 0;
    for (int i = 0; i < measured; i++) {
        double seconds = measure(settings, pairs, (int)steps[i], rank, message);
        if (i == 0) first = seconds;
        if (rank != 0) continue;
        printf("app=pairs send=%s pairs=%d bytes=%d repetitions=%d result=ok rate=%.3f slowdown=%.4f",
               send_kind_name((SendKind)settings->kind), (int)steps[i], settings->bytes, settings->repetitions,
               settings->bytes / seconds * 1e-6, seconds / first);
        report_time(seconds, settings->mhz);
    }
    free(message);
    return 0;
}

int main(int argc, char **argv)
{
    Settings settings = {.at_once = "1,2,4,8", .bytes = 65536, .repetitions = 10, .mhz = ANDEY_MHZ};
    const Option options[] = {
        {.name = "--pairs", .kind = OPTION_TEXT, .value = &settings.pairs, .help = "such as 0-3,1-2 (i to i + n/2)"},
        {.name = "--at-once", .kind = OPTION_TEXT, .value = &settings.at_once, .help = "numbers of pairs (1,2,4,8)"},
        {.name = "--bytes", .kind = OPTION_COUNT, .value = &settings.bytes, .help = "of a message (65536)"},
        {.name = "--repeat", .kind = OPTION_POSITIVE, .value = &settings.repetitions, .help = "messages of a pair (10)"},
        {.name = "--send", .kind = OPTION_CHOICE, .value = &settings.kind, .help = "by the sender", .words = SEND_KINDS},
        {.name = "--mhz", .kind = OPTION_FRACTION, .value = &settings.mhz, .help = "clock for cycles= (400)"},
    };
    MPI_Init(&argc, &argv);
    declare_nothing();
    OptionsRead read = options_read(argc, argv, "pairs: streams at once", options, sizeof options / sizeof *options);
    int status = read.ends ? read.status : run(&settings);
    MPI_Finalize();
    return status;
}
