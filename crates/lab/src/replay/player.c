/* Plays the script of a recorded run: every rank reads its steps from DIRECTORY/RANK and does them, as script.rs describes them.
 *
 * What messages hold does not matter, so all of a rank's share one piece of memory. Prints each rank's seconds. */
#include <corelace.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "steps.h"

enum { NO_REQUEST = 0xffffff };

typedef struct {
    int what, request, object, peer, tag;
    int64_t amount;
} step_t;

typedef struct {
    const uint64_t *words, *end;
    int64_t steps;
    char *memory;
    MPI_Comm *comms;
    MPI_Win *windows;
    MPI_Request *requests, *together;
    int rank;
} player_t;

static void fail(const char *what, const char *about) {
    fprintf(stderr, "replay: %s: %s\n", what, about);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static uint64_t next(player_t *p) {
    if (p->words == p->end) fail("the script ends early", "expected another word");
    return *p->words++;
}

/* Nothing for nothing, which is no mistake. */
static void *room(size_t bytes) {
    void *memory = malloc(bytes ? bytes : 1);
    if (!memory) fail("no memory", "the messages of the recorded run do not fit");
    return memory;
}

/* The script stays on the host: on a chip it takes none of a cluster's memory. */
static void open_script(player_t *p, const char *directory) {
    char path[4096];
    struct stat info;
    snprintf(path, sizeof path, "%s/%d", directory, p->rank);
    int file = open(path, O_RDONLY);
    if (file < 0 || fstat(file, &info)) fail(path, "cannot be read");
    p->words = mmap(NULL, info.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (p->words == MAP_FAILED) fail(path, "cannot be mapped");
    close(file);
    p->end = p->words + info.st_size / 8;
    if (memcmp(p->words++, "CLRPLAY1", 8)) fail(path, "is not a script");
}

/* All communicators are made before the time counts. */
static void make_comms(player_t *p, int count) {
    MPI_Group world;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    for (int i = 0; i < count; i++) {
        int size = (int)next(p), mine = 0;
        int *members = room(size * sizeof *members);
        for (int m = 0; m < size; m++) mine |= (members[m] = (int)next(p)) == p->rank;
        p->comms[i] = i ? MPI_COMM_NULL : MPI_COMM_WORLD;
        if (i && mine) {
            MPI_Group group;
            MPI_Group_incl(world, size, members, &group);
            MPI_Comm_create_group(MPI_COMM_WORLD, group, i % 32768, &p->comms[i]);
            MPI_Group_free(&group);
        }
        free(members);
    }
    MPI_Group_free(&world);
}

static void make_windows(player_t *p, int count) {
    for (int i = 0; i < count; i++) {
        uint64_t word = next(p);
        MPI_Comm comm = p->comms[word & UINT32_MAX];
        void *base;
        p->windows[i] = MPI_WIN_NULL;
        if (comm != MPI_COMM_NULL)
            MPI_Win_allocate((MPI_Aint)(word >> 32), 1, MPI_INFO_NULL, comm, &base, &p->windows[i]);
    }
}

static step_t take(player_t *p) {
    uint64_t head = next(p), peer = next(p);
    int64_t amount = (int64_t)next(p);
    return (step_t){head & 0xff, head >> 8 & 0xffffff, head >> 32, (int)(peer & UINT32_MAX), (int)(peer >> 32), amount};
}

/* Sums of whole numbers where the length allows, which is what programs combine. */
static MPI_Datatype combined(int64_t bytes) { return bytes % 4 ? MPI_UINT8_T : MPI_INT32_T; }
static MPI_Count elements(int64_t bytes) { return bytes % 4 ? bytes : bytes / 4; }

static void collective(player_t *p, step_t s) {
    MPI_Comm comm = p->comms[s.object];
    int size;
    MPI_Comm_size(comm, &size);
    MPI_Request *request = &p->requests[s.request == NO_REQUEST ? 0 : s.request];
    int wait = s.request == NO_REQUEST;
    MPI_Count n = elements(s.amount), bytes = s.amount;
    MPI_Datatype type = combined(s.amount);
    /* The blocks of all members lie behind this member's own. */
    void *one = p->memory, *all = p->memory + s.amount;
#define DO(BLOCKING, STARTING, ...) (wait ? BLOCKING(__VA_ARGS__) : STARTING(__VA_ARGS__, request))
    switch (s.what) {
    case Barrier: DO(MPI_Barrier, MPI_Ibarrier, comm); break;
    case Broadcast: DO(MPI_Bcast_c, MPI_Ibcast_c, one, bytes, MPI_BYTE, s.peer, comm); break;
    case Reduce: DO(MPI_Reduce_c, MPI_Ireduce_c, one, all, n, type, MPI_SUM, s.peer, comm); break;
    case Allreduce: DO(MPI_Allreduce_c, MPI_Iallreduce_c, one, all, n, type, MPI_SUM, comm); break;
    case Gather: DO(MPI_Gather_c, MPI_Igather_c, one, bytes, MPI_BYTE, all, bytes, MPI_BYTE, s.peer, comm); break;
    case Scatter: DO(MPI_Scatter_c, MPI_Iscatter_c, all, bytes, MPI_BYTE, one, bytes, MPI_BYTE, s.peer, comm); break;
    case Allgather: DO(MPI_Allgather_c, MPI_Iallgather_c, one, bytes, MPI_BYTE, all, bytes, MPI_BYTE, comm); break;
    case Alltoall: DO(MPI_Alltoall_c, MPI_Ialltoall_c, all, bytes, MPI_BYTE, p->memory + s.amount * (1 + (int64_t)size), bytes, MPI_BYTE, comm); break;
    case Scan: DO(MPI_Scan_c, MPI_Iscan_c, one, all, n, type, MPI_SUM, comm); break;
    case Exscan: DO(MPI_Exscan_c, MPI_Iexscan_c, one, all, n, type, MPI_SUM, comm); break;
    case ReduceScatterBlock: DO(MPI_Reduce_scatter_block_c, MPI_Ireduce_scatter_block_c, all, one, n, type, MPI_SUM, comm); break;
    default: fail("a step is unknown", "expected a collective");
    }
#undef DO
}

static MPI_Group peers(player_t *p, int64_t count, int window) {
    MPI_Group members, group;
    int *ranks = room(count * sizeof *ranks);
    for (int64_t i = 0; i < count; i++) ranks[i] = take(p).peer;
    MPI_Win_get_group(p->windows[window], &members);
    MPI_Group_incl(members, (int)count, ranks, &group);
    MPI_Group_free(&members);
    free(ranks);
    return group;
}

/* Peers are counted in the window. */
static void one_sided(player_t *p, step_t s) {
    MPI_Win win = p->windows[s.object];
    MPI_Count n = elements(s.amount), bytes = s.amount;
    MPI_Datatype type = combined(s.amount);
    void *here = p->memory, *result = p->memory + s.amount;
    MPI_Group group;
    switch (s.what) {
    case Put: MPI_Put_c(here, bytes, MPI_BYTE, s.peer, 0, bytes, MPI_BYTE, win); break;
    case Get: MPI_Get_c(here, bytes, MPI_BYTE, s.peer, 0, bytes, MPI_BYTE, win); break;
    case Accumulate: MPI_Accumulate_c(here, n, type, s.peer, 0, n, type, MPI_SUM, win); break;
    case Fetch: MPI_Get_accumulate_c(here, n, type, result, n, type, s.peer, 0, n, type, MPI_SUM, win); break;
    case Swap: MPI_Compare_and_swap(here, here, result, s.amount == 8 ? MPI_INT64_T : MPI_INT32_T, s.peer, 0, win); break;
    case Fence: MPI_Win_fence(0, win); break;
    case Lock: MPI_Win_lock(s.amount ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, s.peer, 0, win); break;
    case Unlock: MPI_Win_unlock(s.peer, win); break;
    case LockAll: MPI_Win_lock_all(0, win); break;
    case UnlockAll: MPI_Win_unlock_all(win); break;
    case Flush: MPI_Win_flush_all(win); break;
    case Post:
    case Start:
        group = peers(p, s.amount, s.object);
        if (s.what == Post) MPI_Win_post(group, 0, win);
        else MPI_Win_start(group, 0, win);
        MPI_Group_free(&group);
        break;
    case Complete: MPI_Win_complete(win); break;
    case WaitForAccesses: MPI_Win_wait(win); break;
    default: fail("a step is unknown", "expected one of steps.h");
    }
}

static void play(player_t *p, step_t s) {
    switch (s.what) {
    case Compute: MPIX_Compute(s.amount); return;
    case Send:
        if (s.request == NO_REQUEST) MPI_Send_c(p->memory, s.amount, MPI_BYTE, s.peer, s.tag, MPI_COMM_WORLD);
        else MPI_Isend_c(p->memory, s.amount, MPI_BYTE, s.peer, s.tag, MPI_COMM_WORLD, &p->requests[s.request]);
        return;
    case Receive:
        if (s.request == NO_REQUEST)
            MPI_Recv_c(p->memory, s.amount, MPI_BYTE, s.peer, s.tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else MPI_Irecv_c(p->memory, s.amount, MPI_BYTE, s.peer, s.tag, MPI_COMM_WORLD, &p->requests[s.request]);
        return;
    case Wait: MPI_Wait(&p->requests[s.request], MPI_STATUS_IGNORE); return;
    case WaitAll:
        for (int64_t i = 0; i < s.amount; i++, p->steps--) p->together[i] = p->requests[take(p).request];
        MPI_Waitall((int)s.amount, p->together, MPI_STATUSES_IGNORE);
        return;
    }
    if (s.what == Post || s.what == Start) p->steps -= s.amount;
    if (s.what < Put) collective(p, s);
    else one_sided(p, s);
}

int main(int argc, char **argv) {
    player_t p = {0};
    int size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &p.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc != 2) fail("usage", "player DIRECTORY");
    open_script(&p, argv[1]);
    p.steps = (int64_t)next(&p);
    size_t requests = next(&p), memory = next(&p);
    int comms = (int)next(&p), windows = (int)next(&p);
    p.requests = room(requests * sizeof *p.requests);
    p.together = room(requests * sizeof *p.together);
    p.comms = room(comms * sizeof *p.comms);
    p.windows = room(windows * sizeof *p.windows);
    p.memory = room(memory);
    make_comms(&p, comms);
    make_windows(&p, windows);
    MPI_Barrier(MPI_COMM_WORLD);
    MPIX_Compute(0); /* what computing takes is in the script */
    double began = MPI_Wtime();
    while (p.steps-- > 0) play(&p, take(&p));
    double seconds = MPI_Wtime() - began;
    /* What others still want of this rank's windows is done by then. */
    for (int i = 0; i < windows; i++)
        if (p.windows[i] != MPI_WIN_NULL) MPI_Win_free(&p.windows[i]);
    if (p.rank) MPI_Send(&seconds, 1, MPI_DOUBLE, 0, 32767, MPI_COMM_WORLD);
    for (int rank = 0; p.rank == 0 && rank < size; rank++) {
        if (rank) MPI_Recv(&seconds, 1, MPI_DOUBLE, rank, 32767, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        printf("app=replay rank=%d seconds=%.15g\n", rank, seconds);
    }
    MPI_Finalize();
    return 0;
}
