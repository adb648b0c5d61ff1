/* Messages between two ranks, in one of two ways that a program chooses when it starts:
 *
 * - MPI: MPI_Send and MPI_Recv of bytes;
 * - raw: what a programmer does by hand with the mailboxes and portals of the chip's operating system. The sender announces
 *   the message by mailbox and writes into its portal, where it waits; the receiver reads announcements until the one of its
 *   source has come, allows that source's portal and reads the data. No difference is made between near and far.
 *
 * Invariant of the raw way: a sender waits in its portal until the receiver lets it, so no source has more than one
 * announcement waiting, and one number for each source is enough to keep those that came too early.               */
#ifndef APPS_CHANNEL_H
#define APPS_CHANNEL_H

#include <corelace.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "report.h"

enum { NOT_ANNOUNCED = -1 };

typedef struct {
    bool raw;
    int rank;
    int64_t *announced; /* bytes, for each source; raw only */
} Channel;

static inline const char *channel_variant(const Channel *channel) { return channel->raw ? "ipc" : "mpi"; }

static inline void channel_fail(const Channel *channel, const char *what, int peer, int64_t bytes)
{
    fprintf(stderr, "rank %d: %s, peer %d, %lld bytes\n", channel->rank, what, peer, (long long)bytes);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static inline Channel channel_open(bool raw)
{
    Channel channel = {.raw = raw};
    int ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &channel.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (!raw) return channel;
    channel.announced = room((size_t)ranks, sizeof *channel.announced);
    for (int source = 0; source < ranks; source++) channel.announced[source] = NOT_ANNOUNCED;
    return channel;
}

static inline void channel_close(Channel *channel) { free(channel->announced); }

static inline void raw_send(int to, const void *data, int64_t bytes)
{
    MPIX_Mailbox_write(to, &bytes, sizeof bytes);
    MPIX_Portal_write(to, data, bytes);
}

static inline void raw_receive(Channel *channel, int from, void *data, int64_t bytes)
{
    while (channel->announced[from] == NOT_ANNOUNCED) {
        int64_t announced;
        int source;
        MPIX_Mailbox_read(&announced, sizeof announced, &source);
        channel->announced[source] = announced;
    }
    if (channel->announced[from] != bytes) channel_fail(channel, "another size was announced", from, channel->announced[from]);
    channel->announced[from] = NOT_ANNOUNCED;
    MPIX_Portal_allow(from);
    MPIX_Portal_read(data, bytes, from);
}

static inline void channel_send(Channel *channel, int to, const void *data, int64_t bytes)
{
    if (channel->raw) raw_send(to, data, bytes);
    else MPI_Send(data, (int)bytes, MPI_BYTE, to, 0, MPI_COMM_WORLD);
}

static inline void channel_receive(Channel *channel, int from, void *data, int64_t bytes)
{
    if (channel->raw) {
        raw_receive(channel, from, data, bytes);
        return;
    }
    MPI_Status status;
    int received;
    MPI_Recv(data, (int)bytes, MPI_BYTE, from, 0, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_BYTE, &received);
    if (received != bytes) channel_fail(channel, "another size was sent", from, received);
}

static inline void channel_send_int(Channel *channel, int to, int32_t value) { channel_send(channel, to, &value, sizeof value); }

static inline int32_t channel_receive_int(Channel *channel, int from)
{
    int32_t value;
    channel_receive(channel, from, &value, sizeof value);
    return value;
}

#endif
