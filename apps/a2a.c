/* A2A: every rank exchanges a message with every other, for payloads that double in size.
 *
 * A communication-bound program after the A2A of LWMPI's evaluation: for each size a barrier, a timed loop in which each pair
 * exchanges, the lower rank sending first, and a barrier. Byte 0 of a message carries its sender and is checked. Pairs
 * are met in ascending order by everybody, so that one of the smallest unmet pair is never waiting for a later one. A first
 * exchange of all pairs is not measured: on a chip they look up each other's addresses then.
 *
 * Prints a line for each size: app=a2a variant= ranks= bytes= rounds= result=ok time= cycles=, where the time is that of the
 * slowest rank for all rounds. There is no computation and nothing is declared.                                   */
#include "common/channel.h"
#include "common/compute.h"
#include "common/options.h"
#include "common/report.h"

typedef struct {
    bool ipc;
    int smallest, largest, rounds;
    double mhz;
} Settings;

static void mark(unsigned char *message, int rank) { message[0] = (unsigned char)rank; }

static void expect(Channel *channel, const unsigned char *message, int sender)
{
    if (message[0] != (unsigned char)sender) channel_fail(channel, "the message is of another rank", sender, message[0]);
}

static void exchange_with(Channel *channel, int peer, unsigned char *message, int bytes)
{
    if (channel->rank < peer) {
        mark(message, channel->rank);
        channel_send(channel, peer, message, bytes);
        channel_receive(channel, peer, message, bytes);
        expect(channel, message, peer);
    } else {
        channel_receive(channel, peer, message, bytes);
        expect(channel, message, peer);
        mark(message, channel->rank);
        channel_send(channel, peer, message, bytes);
    }
}

/* Time of the slowest rank. */
static double superstep(Channel *channel, int ranks, int bytes, int rounds)
{
    unsigned char *message = room((size_t)bytes, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    for (int round = 0; round < rounds; round++)
        for (int peer = 0; peer < ranks; peer++)
            if (peer != channel->rank) exchange_with(channel, peer, message, bytes);
    double mine = MPI_Wtime() - begin, slowest;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    free(message);
    return slowest;
}

int main(int argc, char **argv)
{
    Settings settings = {.smallest = 128, .largest = 32768, .rounds = 1, .mhz = ANDEY_MHZ};
    const Option options[] = {
        {.name = "--ipc", .kind = OPTION_FLAG, .value = &settings.ipc, .help = "raw mailboxes and portals instead of MPI"},
        {.name = "--min", .kind = OPTION_POSITIVE, .value = &settings.smallest, .help = "smallest payload in bytes (128)"},
        {.name = "--max", .kind = OPTION_POSITIVE, .value = &settings.largest, .help = "largest payload in bytes (32768)"},
        {.name = "--rounds", .kind = OPTION_POSITIVE, .value = &settings.rounds, .help = "exchanges of each pair (1)"},
        {.name = "--mhz", .kind = OPTION_FRACTION, .value = &settings.mhz, .help = "clock for cycles= (400)"},
    };
    MPI_Init(&argc, &argv);
    declare_nothing();
    OptionsRead read = options_read(argc, argv, "a2a: all ranks exchange with all", options, sizeof options / sizeof *options);
    if (!read.ends) {
        int rank, ranks;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &ranks);
        Channel channel = channel_open(settings.ipc);
        superstep(&channel, ranks, settings.smallest, 1);
        for (int bytes = settings.smallest; bytes <= settings.largest; bytes *= 2) {
            double seconds = superstep(&channel, ranks, bytes, settings.rounds);
            if (rank == 0) {
                printf("app=a2a variant=%s ranks=%d bytes=%d rounds=%d result=ok", channel_variant(&channel), ranks, bytes,
                       settings.rounds);
                report_time(seconds, settings.mhz);
            }
            if (bytes > settings.largest / 2) break;
        }
        channel_close(&channel);
    }
    MPI_Finalize();
    return read.status;
}
