/* Messages between ranks 0 and 1.
 *   latency           half of a round trip of data that nobody touches in between
 *   latency-written   the same of data that the sender has just written, as programs do: their lines are in its cache, and nowhere else
 *   exchange          both send what they have just written, and read what they get
 *   rate              messages a second with 64 in flight
 *   rate-early        the same of messages that are there before their receives */
#include "measure.h"

enum { IN_FLIGHT = 64, LARGEST = 2 << 20, LINE = 64, FRESH_FROM = 4096, EARLY_UP_TO = 4096 };

static char *outgoing, *incoming;
static int is_fresh, is_early;

static void write_lines(int size)
{
    for (int at = 0; at < size; at += LINE) outgoing[at]++;
}

static void read_lines(int size)
{
    volatile char sink;
    for (int at = 0; at < size; at += LINE) sink = *(volatile char *)&incoming[at];
    (void)sink;
}

static void send(int size, int to)
{
    if (is_fresh) write_lines(size);
    MPI_Send(outgoing, size, MPI_BYTE, to, 11, MPI_COMM_WORLD);
}

static void receive(int size, int from)
{
    MPI_Recv(incoming, size, MPI_BYTE, from, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Seconds of a round trip, as rank 0 sees it. */
static double round_trip(int size, int trips)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    for (int trip = 0; trip < trips; trip++) {
        if (me == 0) {
            send(size, 1);
            receive(size, 1);
        } else if (me == 1) {
            receive(size, 0);
            send(size, 0);
        }
    }
    return (MPI_Wtime() - begin) / trips;
}

/* Seconds of an exchange between both. */
static double exchange(int size, int times)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    for (int i = 0; i < times && me < 2; i++) {
        write_lines(size);
        MPI_Sendrecv(outgoing, size, MPI_BYTE, 1 - me, 14, incoming, size, MPI_BYTE, 1 - me, 14, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        read_lines(size);
    }
    return (MPI_Wtime() - begin) / times;
}

/* Seconds of IN_FLIGHT messages that are acknowledged once. */
static double burst(int size, int bursts)
{
    MPI_Request pending[IN_FLIGHT];
    char token = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    for (int i = 0; i < bursts; i++) {
        if (me > 1) continue;
        if (me == 1 && is_early) MPI_Recv(&token, 1, MPI_CHAR, 0, 15, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int k = 0; k < IN_FLIGHT; k++) {
            if (me == 0)
                MPI_Isend(outgoing, size, MPI_BYTE, 1, 12, MPI_COMM_WORLD, &pending[k]);
            else
                MPI_Irecv(incoming, size, MPI_BYTE, 0, 12, MPI_COMM_WORLD, &pending[k]);
        }
        if (me == 0 && is_early) MPI_Send(&token, 1, MPI_CHAR, 1, 15, MPI_COMM_WORLD);
        MPI_Waitall(IN_FLIGHT, pending, MPI_STATUSES_IGNORE);
        if (me == 0)
            MPI_Recv(&token, 1, MPI_CHAR, 1, 13, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Send(&token, 1, MPI_CHAR, 0, 13, MPI_COMM_WORLD);
    }
    return (MPI_Wtime() - begin) / bursts;
}

int main(int argc, char **argv)
{
    static const int sizes[] = {0, 8, 64, 512, 1024, 4096, 8192, 16384, 32768, 65536, 262144, LARGEST};
    MPI_Init(&argc, &argv);
    get_ready(argc, argv);
    outgoing = malloc(LARGEST);
    incoming = malloc(LARGEST);
    memset(outgoing, 1, LARGEST);
    memset(incoming, 2, LARGEST);
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int size = sizes[i], times = repetitions(size <= 8192 ? 20000 : size <= 262144 ? 2000 : 300);
        is_fresh = 0;
        figure("latency", size, best_of(round_trip, size, times) / 2 * 1e6, "us");
        is_fresh = 1;
        if (size >= FRESH_FROM) figure("latency-written", size, best_of(round_trip, size, times) / 2 * 1e6, "us");
    }
    for (unsigned i = 1; i < sizeof sizes / sizeof *sizes; i++) {
        int size = sizes[i], times = repetitions(size <= 8192 ? 20000 : size <= 65536 ? 2000 : 300);
        figure("exchange", size, best_of(exchange, size, times) * 1e6, "us");
    }
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int size = sizes[i], bursts = repetitions(size <= 8192 ? 1000 : size <= 65536 ? 100 : 10);
        is_early = 0;
        figure("rate", size, IN_FLIGHT / best_of(burst, size, bursts) / 1e6, "M/s");
        is_early = 1;
        if (size <= EARLY_UP_TO) figure("rate-early", size, IN_FLIGHT / best_of(burst, size, bursts) / 1e6, "M/s");
    }
    free(outgoing);
    free(incoming);
    MPI_Finalize();
    return 0;
}
