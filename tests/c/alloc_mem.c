/* Memory from MPI_Alloc_mem: messages from and to it, windows over it, and what remains of it after it was freed. */
#include <stdint.h>
#include "check.h"

#define LONGEST (3 << 20)

/* All four combinations of whose memory is whose, in rings, from places inside of the pieces. */
static void messages(void)
{
    static const int lengths[] = {8, 4096, 16384, 16385, 65536, 1 << 20, LONGEST - 5000};
    unsigned char *from[2], *to[2];
    int next = (rank + 1) % size, last = (rank + size - 1) % size, turn = 0;
    for (int kind = 0; kind < 2; kind++) {
        if (kind) {
            MPI_Alloc_mem(LONGEST, MPI_INFO_NULL, &from[kind]);
            MPI_Alloc_mem(LONGEST, MPI_INFO_NULL, &to[kind]);
        } else {
            from[kind] = malloc(LONGEST);
            to[kind] = malloc(LONGEST);
        }
    }
    for (int way = 0; way < 4; way++)
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++, turn++) {
            unsigned char *mine = from[way & 1] + 100 * way, *theirs = to[way >> 1] + 4000;
            int length = lengths[i];
            MPI_Request requests[2];
            fill(mine, length, rank, turn);
            memset(theirs, 0, length);
            MPI_Irecv(theirs, length, MPI_BYTE, last, turn, MPI_COMM_WORLD, &requests[0]);
            if (turn % 2) MPI_Barrier(MPI_COMM_WORLD); /* the receive is there first */
            MPI_Isend(mine, length, MPI_BYTE, next, turn, MPI_COMM_WORLD, &requests[1]);
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
            SAME(differs(theirs, length, last, turn), -1);
            SAME(differs(mine, length, rank, turn), -1);
        }
    MPI_Free_mem(from[1]);
    MPI_Free_mem(to[1]);
    free(from[0]);
    free(to[0]);
}

/* Memory that is freed and comes again is not taken for what it was. */
static void again_and_again(void)
{
    unsigned char *room = malloc(1 << 17);
    for (int turn = 0; turn < 200; turn++) {
        int length = 20000 + turn * 500, last = (rank + size - 1) % size;
        unsigned char *piece;
        MPI_Alloc_mem(length, MPI_INFO_NULL, &piece);
        fill(piece, length, rank, turn);
        MPI_Sendrecv(piece, length, MPI_BYTE, (rank + 1) % size, turn, room, length, MPI_BYTE, last, turn, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        SAME(differs(room, length, last, turn), -1);
        MPI_Free_mem(piece);
    }
    free(room);
}

/* Some thousands, of which not all can be shared. */
static void many(void)
{
    enum { MANY = 5000 };
    static int *pieces[MANY];
    for (int i = 0; i < MANY; i++) {
        MPI_Alloc_mem(sizeof(int), MPI_INFO_NULL, &pieces[i]);
        CHECK((uintptr_t)pieces[i] % 64 == 0);
        *pieces[i] = i;
    }
    for (int i = 0; i < MANY; i++) SAME(*pieces[i], i);
    for (int i = 0; i < MANY; i++) MPI_Free_mem(pieces[(i * 7) % MANY]);
}

/* Two windows over one piece, one of them over a part; members without memory; the second outlives the first. */
static void windows(int bytes_of_last)
{
    int64_t *piece;
    MPI_Win whole, part;
    int bytes = rank > 0 && rank == size - 1 ? bytes_of_last : 8192;
    MPI_Alloc_mem(8192, MPI_INFO_NULL, &piece);
    memset(piece, 0, 8192);
    MPI_Win_create(piece, bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &whole);
    MPI_Win_create(piece + 512, bytes ? 4096 : 0, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &part);
    int64_t one = 1, before = -1, seen = -1, mine = rank + 1;
    MPI_Win_lock_all(0, whole);
    for (int turn = 0; turn < 100; turn++) {
        MPI_Fetch_and_op(&one, &before, MPI_INT64_T, 0, 0, MPI_SUM, whole);
        MPI_Accumulate(&one, 1, MPI_INT64_T, 0, 600, 1, MPI_INT64_T, MPI_SUM, whole);
        MPI_Win_flush(0, whole);
    }
    CHECK(before >= 99 && before < 100 * size);
    MPI_Win_unlock_all(whole);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, part);
    MPI_Get(&seen, 1, MPI_INT64_T, 0, 88, 1, MPI_INT64_T, part);
    MPI_Win_unlock(0, part);
    SAME(seen, 100 * size);
    MPI_Win_free(&whole);
    MPI_Win_fence(0, part);
    MPI_Put(&mine, 1, MPI_INT64_T, 0, rank, 1, MPI_INT64_T, part);
    MPI_Win_fence(0, part);
    if (rank == 0) {
        SAME(piece[0], 100 * size);
        for (int r = 0; r < size; r++) SAME(piece[512 + r], r + 1);
    }
    MPI_Win_free(&part);
    MPI_Free_mem(piece);
}

/* One member brings memory of its own: then nobody maps anything, and all goes as before. */
static void mixed(void)
{
    int64_t *piece, own[64] = {0}, value = rank + 7, back = -1;
    MPI_Win win;
    MPI_Alloc_mem(512, MPI_INFO_NULL, &piece);
    memset(piece, 0, 512);
    MPI_Win_create(rank % 2 ? own : piece, 512, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    int next = (rank + 1) % size;
    MPI_Win_lock_all(0, win);
    MPI_Put(&value, 1, MPI_INT64_T, next, 3, 1, MPI_INT64_T, win);
    MPI_Win_flush(next, win);
    MPI_Get(&back, 1, MPI_INT64_T, next, 3, 1, MPI_INT64_T, win);
    MPI_Win_unlock_all(win);
    SAME(back, value);
    MPI_Win_free(&win);
    MPI_Free_mem(piece);
}

static void aligned(void)
{
    static const char *alignments[] = {"8", "128", "4096", "65536"};
    for (int i = 0; i < 4; i++) {
        char *piece;
        MPI_Info info;
        MPI_Info_create(&info);
        MPI_Info_set(info, "mpi_minimum_memory_alignment", alignments[i]);
        MPI_Alloc_mem(100, info, &piece);
        CHECK((uintptr_t)piece % (uintptr_t)atol(alignments[i]) == 0);
        piece[99] = 1;
        MPI_Free_mem(piece);
        MPI_Info_free(&info);
    }
}

int main(int argc, char **argv)
{
    int *early, *late;
    MPI_Alloc_mem(100, MPI_INFO_NULL, &early);
    early[20] = 5;
    begin(&argc, &argv);
    messages();
    again_and_again();
    many();
    windows(8192);
    windows(0);
    mixed();
    aligned();
    MPI_Alloc_mem(100000, MPI_INFO_NULL, &late);
    late[20000] = 6;
    SAME(early[20], 5);
    int failed = conclude();
    if (late[20000] != 6) failed = 1; /* it is the program's until it is freed */
    MPI_Free_mem(early);
    MPI_Free_mem(late);
    return failed;
}
