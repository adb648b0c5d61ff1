/* Random traffic of all kinds for a while: usage: soak SECONDS [SEED]. All ranks draw the same numbers, so they agree on what comes next; every byte that
 * arrives is compared. The memory of the process is looked at after a warm-up and must not grow from then on. */
#include "check.h"
#include <time.h>

enum { LONGEST = 300000, MOST = 64 };

static unsigned long long state;

static unsigned draw(unsigned below)
{
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned)((state >> 33) % below);
}

/* Short ones mostly, and some on both sides of every threshold. */
static int length(void)
{
    static const int bounds[] = {0, 1, 8, 64, 100, 2000, 2100, 16384, 20000, 70000, LONGEST};
    return (int)draw((unsigned)bounds[1 + draw(10)] + 1);
}

static unsigned char *room(int slot)
{
    static unsigned char *slots[4];
    if (!slots[slot]) {
        slots[slot] = malloc((size_t)LONGEST * 2 + 64);
        memset(slots[slot], 1, (size_t)LONGEST * 2 + 64); /* all of it, so that it does not seem to grow later */
    }
    return slots[slot];
}

static void compare(const unsigned char *data, long bytes, int from, int message)
{
    for (long i = 0; i < bytes; i++)
        if (data[i] != pattern(from, message, i)) {
            CHECK(data[i] == pattern(from, message, i));
            return;
        }
}

/* A communicator to work on: the world, a part of it, or a twin. */
static MPI_Comm current = MPI_COMM_NULL;

static MPI_Comm chosen(int *me, int *members)
{
    if (current == MPI_COMM_NULL || draw(20) == 0) {
        if (current != MPI_COMM_NULL) MPI_Comm_free(&current);
        if (draw(2)) MPI_Comm_dup(MPI_COMM_WORLD, &current);
        else MPI_Comm_split(MPI_COMM_WORLD, rank % (1 + (int)draw(3)), draw(2) ? rank : -rank, &current);
    }
    MPI_Comm_rank(current, me);
    MPI_Comm_size(current, members);
    return current;
}

static void messages(int number)
{
    int me, members, bytes = length(), shift, mode = (int)draw(6), received;
    MPI_Comm comm = chosen(&me, &members);
    shift = (int)draw((unsigned)members);
    int to = (me + shift) % members, from = (me + members - shift) % members;
    unsigned char *out = room(0), *in = room(1);
    MPI_Request requests[2];
    MPI_Status status;
    fill(out, bytes, me, number);
    switch (mode) {
    case 0: MPI_Sendrecv(out, bytes, MPI_BYTE, to, number, in, bytes, MPI_BYTE, from, number, comm, &status); break;
    case 1:
        MPI_Irecv(in, bytes, MPI_BYTE, MPI_ANY_SOURCE, number, comm, &requests[0]);
        MPI_Issend(out, bytes, MPI_BYTE, to, number, comm, &requests[1]);
        MPI_Wait(&requests[0], &status);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        break;
    case 2: {
        MPI_Message message;
        MPI_Isend(out, bytes, MPI_BYTE, to, number, comm, &requests[0]);
        MPI_Mprobe(from, MPI_ANY_TAG, comm, &message, &status);
        MPI_Mrecv(in, bytes, MPI_BYTE, &message, &status);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        break;
    }
    case 3:
        MPI_Recv_init(in, bytes, MPI_BYTE, from, number, comm, &requests[0]);
        MPI_Send_init(out, bytes, MPI_BYTE, to, number, comm, &requests[1]);
        MPI_Startall(2, requests);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        MPI_Wait(&requests[0], &status);
        MPI_Request_free(&requests[0]);
        MPI_Request_free(&requests[1]);
        break;
    case 4: {
        MPI_Datatype column;
        int rows = bytes / 8, done = 0;
        bytes = rows * 4;
        MPI_Type_vector(rows, 4, 8, MPI_BYTE, &column);
        MPI_Type_commit(&column);
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < 4; j++) out[i * 8 + j] = pattern(me, number, i * 4 + j);
        MPI_Irecv(in, bytes, MPI_BYTE, from, number, comm, &requests[0]);
        MPI_Isend(out, 1, column, to, number, comm, &requests[1]);
        while (!done) MPI_Test(&requests[0], &done, &status);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        MPI_Type_free(&column);
        break;
    }
    default: {
        int parts = 1 + (int)draw(5);
        bytes = bytes / parts * parts;
        MPI_Psend_init(out, parts, bytes / parts, MPI_BYTE, to, number, comm, MPI_INFO_NULL, &requests[0]);
        MPI_Precv_init(in, parts, bytes / parts, MPI_BYTE, from, number, comm, MPI_INFO_NULL, &requests[1]);
        MPI_Startall(2, requests);
        for (int part = parts - 1; part >= 0; part--) MPI_Pready(part, requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        MPI_Wait(&requests[1], &status);
        MPI_Request_free(&requests[0]);
        MPI_Request_free(&requests[1]);
    }
    }
    MPI_Get_count(&status, MPI_BYTE, &received);
    CHECK(received == bytes && status.MPI_SOURCE == from && status.MPI_TAG == number);
    compare(in, bytes, from, number);
}

static void collectives(int number)
{
    int me, members, kind = (int)draw(8), root;
    MPI_Comm comm = chosen(&me, &members);
    int each = length() / members, late = (int)draw(2);
    root = (int)draw((unsigned)members);
    unsigned char *out = room(2), *in = room(3);
    MPI_Request request = MPI_REQUEST_NULL;
    switch (kind) {
    case 0: late ? MPI_Ibarrier(comm, &request) : MPI_Barrier(comm); break;
    case 1:
        if (me == root) fill(in, each, root, number);
        late ? MPI_Ibcast(in, each, MPI_BYTE, root, comm, &request) : MPI_Bcast(in, each, MPI_BYTE, root, comm);
        break;
    case 2: case 3: {
        int count = each / 8, *values = (int *)out;
        for (int i = 0; i < count; i++) values[i] = me + i + number;
        if (kind == 2)
            late ? MPI_Iallreduce(out, in, count, MPI_INT, MPI_SUM, comm, &request) : MPI_Allreduce(out, in, count, MPI_INT, MPI_SUM, comm);
        else
            late ? MPI_Iscan(out, in, count, MPI_INT, MPI_SUM, comm, &request) : MPI_Scan(out, in, count, MPI_INT, MPI_SUM, comm);
        break;
    }
    case 4:
        fill(out, each, me, number);
        late ? MPI_Iallgather(out, each, MPI_BYTE, in, each, MPI_BYTE, comm, &request) : MPI_Allgather(out, each, MPI_BYTE, in, each, MPI_BYTE, comm);
        break;
    case 5:
        for (int to = 0; to < members; to++) fill(out + (long)to * each, each, me * 64 + to, number);
        late ? MPI_Ialltoall(out, each, MPI_BYTE, in, each, MPI_BYTE, comm, &request) : MPI_Alltoall(out, each, MPI_BYTE, in, each, MPI_BYTE, comm);
        break;
    case 6:
        fill(out, each, me, number);
        late ? MPI_Igather(out, each, MPI_BYTE, in, each, MPI_BYTE, root, comm, &request) : MPI_Gather(out, each, MPI_BYTE, in, each, MPI_BYTE, root, comm);
        break;
    default:
        if (me == root)
            for (int to = 0; to < members; to++) fill(out + (long)to * each, each, to, number);
        late ? MPI_Iscatter(out, each, MPI_BYTE, in, each, MPI_BYTE, root, comm, &request) : MPI_Scatter(out, each, MPI_BYTE, in, each, MPI_BYTE, root, comm);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    int count = each / 8, *sums = (int *)in;
    if (kind == 1) compare(in, each, root, number);
    else if (kind == 2) for (int i = 0; i < count; i++) { if (sums[i] != members * (i + number) + members * (members - 1) / 2) { CHECK(!"an allreduce"); break; } }
    else if (kind == 3) for (int i = 0; i < count; i++) { if (sums[i] != (me + 1) * (i + number) + me * (me + 1) / 2) { CHECK(!"a scan"); break; } }
    else if (kind == 4 || (kind == 6 && me == root)) for (int from = 0; from < members; from++) compare(in + (long)from * each, each, from, number);
    else if (kind == 5) for (int from = 0; from < members; from++) compare(in + (long)from * each, each, from * 64 + me, number);
    else if (kind == 7) compare(in, each, me, number);
}

/* Between the even ranks and the odd ones. */
static void across(int number)
{
    MPI_Comm half, inter, merged;
    int sum = 0, one = rank + number, others = 0, expected = 0;
    if (size < 2) return;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, number, &inter);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, inter);
    for (int other = 1 - rank % 2; other < size; other += 2) expected += other + number, others++;
    SAME(sum, expected);
    MPI_Comm_remote_size(inter, &sum);
    SAME(sum, others);
    MPI_Intercomm_merge(inter, rank % 2, &merged);
    MPI_Comm_size(merged, &sum);
    SAME(sum, size);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

static void neighbours(int number)
{
    MPI_Comm grid;
    int dims[2] = {0, 0}, periods[2] = {1, (int)draw(2)}, in[4] = {-1, -1, -1, -1}, out = rank * 10 + number, sources[4];
    MPI_Dims_create(size, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
    MPI_Neighbor_allgather(&out, 1, MPI_INT, in, 1, MPI_INT, grid);
    for (int i = 0; i < 2; i++) MPI_Cart_shift(grid, i, 1, &sources[2 * i], &sources[2 * i + 1]);
    for (int i = 0; i < 4; i++) CHECK(in[i] == (sources[i] == MPI_PROC_NULL ? -1 : sources[i] * 10 + number));
    MPI_Comm_free(&grid);
}

/* A window that is used for a while: a counter, and behind it room for data. */
enum { DATA = 64 };
static MPI_Win window = MPI_WIN_NULL;
static unsigned char *memory;
static long counted;

static void make_window(void)
{
    static unsigned char *own;
    if (window != MPI_WIN_NULL) MPI_Win_free(&window);
    if (!own) own = malloc(DATA + LONGEST), memset(own, 1, DATA + LONGEST);
    if (draw(2)) MPI_Win_allocate(DATA + LONGEST, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    else MPI_Win_create(memory = own, DATA + LONGEST, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, window);
    memset(memory, 0, DATA);
    MPI_Win_unlock(rank, window);
    counted = 0;
    MPI_Barrier(MPI_COMM_WORLD);
}

static MPI_Group only(int member)
{
    MPI_Group world, group;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &member, &group);
    MPI_Group_free(&world);
    return group;
}

/* Everybody puts data to another, in one of the epochs, gets it back, and counts at one of them. */
static void windows(int number)
{
    if (window == MPI_WIN_NULL || draw(20) == 0) make_window();
    unsigned char *out = room(0), *in = room(1);
    int bytes = length(), shift = (int)draw((unsigned)size), epoch = (int)draw(4), owner = (int)draw((unsigned)size), counts = (int)draw(3);
    int to = (rank + shift) % size, from = (rank - shift + size) % size;
    long one = 1, was = 0;
    for (int i = 0; i < bytes; i++) out[i] = pattern(rank, number, i);
    if (epoch == 0) {
        MPI_Win_fence(0, window);
        MPI_Put(out, bytes, MPI_BYTE, to, DATA, bytes, MPI_BYTE, window);
        MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
    } else if (epoch == 1) {
        MPI_Group origin = only(from), target = only(to);
        MPI_Win_post(origin, 0, window);
        MPI_Win_start(target, 0, window);
        MPI_Put(out, bytes, MPI_BYTE, to, DATA, bytes, MPI_BYTE, window);
        MPI_Win_complete(window);
        MPI_Win_wait(window);
        MPI_Group_free(&origin);
        MPI_Group_free(&target);
    } else if (epoch == 2) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, window);
        MPI_Put(out, bytes, MPI_BYTE, to, DATA, bytes, MPI_BYTE, window);
        MPI_Win_unlock(to, window);
    } else {
        MPI_Win_lock_all(0, window);
        MPI_Put(out, bytes, MPI_BYTE, to, DATA, bytes, MPI_BYTE, window);
        MPI_Win_flush(to, window);
        MPI_Win_unlock_all(window);
    }
    MPI_Win_lock(MPI_LOCK_SHARED, to, 0, window);
    MPI_Get(in, bytes, MPI_BYTE, to, DATA, bytes, MPI_BYTE, window);
    MPI_Win_unlock(to, window);
    compare(in, bytes, rank, number);
    MPI_Win_lock(MPI_LOCK_SHARED, owner, 0, window);
    if (counts == 0) MPI_Fetch_and_op(&one, &was, MPI_LONG, owner, 0, MPI_SUM, window);
    else if (counts == 1) MPI_Accumulate(&one, 1, MPI_LONG, owner, 0, 1, MPI_LONG, MPI_SUM, window);
    else MPI_Get_accumulate(&one, 1, MPI_LONG, &was, 1, MPI_LONG, owner, 0, 1, MPI_LONG, MPI_SUM, window);
    MPI_Win_unlock(owner, window);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window);
    compare(memory + DATA, bytes, from, number);
    if (rank == owner) counted += size;
    memcpy(&was, memory, sizeof was);
    SAME(was, counted);
    MPI_Win_unlock(rank, window);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Kilobytes of memory that the process has, not counting what is shared. */
static long resident(void)
{
    long total = 0, pages = 0, shared = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld %ld %ld", &total, &pages, &shared) != 3) pages = shared = 0;
    if (file) fclose(file);
    return (pages - shared) * 4;
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 1;
    long before = 0, operations = 0;
    begin(&argc, &argv);
    state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    for (int slot = 0; slot < 4; slot++) room(slot);
    double start = MPI_Wtime();
    for (int goes_on = 1, number = 0; goes_on; number = (number + 1) % 30000) {
        unsigned what = draw(100);
        if (what < 45) messages(number);
        else if (what < 85) collectives(number);
        else if (what < 95) windows(number);
        else if (what < 98) neighbours(number);
        else across(number);
        if (++operations % 256 == 0) {
            double passed = MPI_Wtime() - start;
            MPI_Bcast(&passed, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
            if (!before && passed > seconds / 3) before = resident();
            goes_on = passed < seconds;
        }
    }
    if (current != MPI_COMM_NULL) MPI_Comm_free(&current);
    if (window != MPI_WIN_NULL) MPI_Win_free(&window);
    long grown = resident() - before, most;
    MPI_Reduce(&grown, &most, 1, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0 && argc > 1) { /* a single second says nothing of memory */
        fprintf(stderr, "soak: %ld operations of %d ranks in %.0f s; memory grew by %ld KiB in the last two thirds\n", operations, size, seconds, most);
        CHECK(most < 4096 + 256L * size); /* ranks may share the process */
    }
    return conclude();
}
