/* Messages between two ranks, in one of two ways that a program chooses when it starts:
 *
 * - MPI: MPI_Send and MPI_Recv of bytes;
 * - raw: mailboxes and portals of the chip's operating system by hand, as the published programs of LWMPI's comparison use them: the
 *   receiver writes its permission into the sender's mailbox; the sender waits for it, writes its request and then the whole message into
 *   the receiver's portal; the receiver reads the request, allows the portal and reads. Nobody acknowledges anything.
 *   No difference is made between near and far.
 *
 * A rank has one mailbox for everything, so what it reads may be of another conversation: each source's last note of each kind
 * is kept until it is asked for. One of each is enough, because a conversation goes on only when its note was answered: a second request needs a second permission. */
#ifndef APPS_CHANNEL_H
#define APPS_CHANNEL_H

#include <corelace.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "report.h"

/* What the mailbox carries. */
typedef enum { NOTE_PERMISSION, NOTE_REQUEST, NOTE_KINDS } NoteKind;

typedef struct {
    int32_t kind;
    int64_t bytes;
} Note;

enum { NO_NOTE = -1 };

typedef struct {
    bool raw;
    int rank;
    int64_t (*notes)[NOTE_KINDS]; /* bytes, for each source and kind; raw only */
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
    channel.notes = room((size_t)ranks, sizeof *channel.notes);
    for (int source = 0; source < ranks; source++)
        for (int kind = 0; kind < NOTE_KINDS; kind++) channel.notes[source][kind] = NO_NOTE;
    return channel;
}

static inline void channel_close(Channel *channel) { free(channel->notes); }

static inline void note_write(int to, NoteKind kind, int64_t bytes)
{
    Note note = {.kind = kind, .bytes = bytes};
    MPIX_Mailbox_write(to, &note, sizeof note);
}

static inline void note_read(Channel *channel, int from, NoteKind kind, int64_t bytes)
{
    while (channel->notes[from][kind] == NO_NOTE) {
        Note note;
        int source;
        MPIX_Mailbox_read(&note, sizeof note, &source);
        channel->notes[source][note.kind] = note.bytes;
    }
    if (channel->notes[from][kind] != bytes) channel_fail(channel, "another size was noted", from, channel->notes[from][kind]);
    channel->notes[from][kind] = NO_NOTE;
}

static inline void raw_send(Channel *channel, int to, const void *data, int64_t bytes)
{
    note_read(channel, to, NOTE_PERMISSION, bytes);
    note_write(to, NOTE_REQUEST, bytes);
    MPIX_Portal_write(to, data, bytes);
}

static inline void raw_receive(Channel *channel, int from, void *data, int64_t bytes)
{
    note_write(from, NOTE_PERMISSION, bytes);
    note_read(channel, from, NOTE_REQUEST, bytes);
    MPIX_Portal_allow(from);
    MPIX_Portal_read(data, bytes, from);
}

static inline void channel_send(Channel *channel, int to, const void *data, int64_t bytes)
{
    if (channel->raw) raw_send(channel, to, data, bytes);
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
