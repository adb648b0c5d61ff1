/* One-sided figures: what rank 0 does to memory of rank 1, which waits, and what ranks 0 and 1 synchronise by. One a line:   figure NAME SIZE VALUE UNIT
 *   rma-put, rma-get, rma-accumulate, rma-fetch-and-op, rma-compare-and-swap     the operation and a flush, inside of one lock
 *   rma-fence, rma-start, rma-lock                                               a put of 8 bytes and the synchronisation around it
 * each three times: /allocated for memory that MPI_Win_allocate gave, /created for memory of the program's own, /lent for a window over memory from MPI_Alloc_mem.
 *   rma-message                                                                  half a round trip of messages between memory of the program's own, /created, and between such, /lent
 */
#include "measure.h"

enum { LARGEST = 1 << 20 };

static char *mine, *memory;
static MPI_Win window;
static MPI_Group peer;

typedef void action(int size);

static void put(int size)
{
    MPI_Put(mine, size, MPI_BYTE, 1, 0, size, MPI_BYTE, window);
}

static void get(int size)
{
    MPI_Get(mine, size, MPI_BYTE, 1, 0, size, MPI_BYTE, window);
}

static void accumulate(int size)
{
    int count = size / (int)sizeof(double);
    MPI_Accumulate(mine, count, MPI_DOUBLE, 1, 0, count, MPI_DOUBLE, MPI_SUM, window);
}

/* What these two read and write is theirs until the flush. */
static long one = 1, zero, before;

static void fetch_and_op(int size)
{
    (void)size;
    MPI_Fetch_and_op(&one, &before, MPI_LONG, 1, 0, MPI_SUM, window);
}

static void compare_and_swap(int size)
{
    (void)size;
    MPI_Compare_and_swap(&one, &zero, &before, MPI_LONG, 1, 0, window);
}

/* What is measured now. */
static action *act;

/* Seconds of one operation at a target that is locked. */
static double locked(int size, int times)
{
    double seconds = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, window);
        double begin = MPI_Wtime();
        for (int i = 0; i < times; i++) {
            act(size);
            MPI_Win_flush(1, window);
        }
        seconds = MPI_Wtime() - begin;
        MPI_Win_unlock(1, window);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return seconds / times;
}

static void fence(int size)
{
    if (me == 0) put(size);
    MPI_Win_fence(0, window);
}

static void start(int size)
{
    if (me == 0) {
        MPI_Win_start(peer, 0, window);
        put(size);
        MPI_Win_complete(window);
    } else if (me == 1) {
        MPI_Win_post(peer, 0, window);
        MPI_Win_wait(window);
    }
}

static void lock(int size)
{
    if (me != 0) return;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window);
    put(size);
    MPI_Win_unlock(1, window);
}

/* Seconds of one epoch, which both ranks go through. */
static double epoch(int size, int times)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    for (int i = 0; i < times; i++) act(size);
    double seconds = MPI_Wtime() - begin;
    MPI_Barrier(MPI_COMM_WORLD);
    return seconds / times;
}

static void message(int size)
{
    if (me == 0) MPI_Send(mine, size, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    if (me < 2) MPI_Recv(memory, size, MPI_BYTE, !me, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (me == 1) MPI_Send(mine, size, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
}

/* Seconds of one way of a message there and back. */
static double half(int size, int times)
{
    return epoch(size, times) / 2;
}

static void measured(const char *name, const char *kind, double (*measure)(int, int), action *what, int size, int times)
{
    char title[64];
    act = what;
    snprintf(title, sizeof title, "rma-%s/%s", name, kind);
    figure(title, size, best_of(measure, size, repetitions(times)) * 1e6, "us");
}

static void figures(const char *kind)
{
    static const int sizes[] = {8, 4096, 65536, LARGEST};
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int size = sizes[i], times = size <= 4096 ? 4000 : 200;
        measured("put", kind, locked, put, size, times);
        measured("get", kind, locked, get, size, times);
        measured("accumulate", kind, locked, accumulate, size, times / 2);
    }
    measured("fetch-and-op", kind, locked, fetch_and_op, 8, 4000);
    measured("compare-and-swap", kind, locked, compare_and_swap, 8, 4000);
    MPI_Win_fence(0, window);
    measured("fence", kind, epoch, fence, 8, 2000);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
    measured("start", kind, epoch, start, 8, 2000);
    measured("lock", kind, epoch, lock, 8, 2000);
}

static void messages(const char *kind)
{
    static const int sizes[] = {32768, 262144, LARGEST};
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) measured("message", kind, half, message, sizes[i], 400);
}

int main(int argc, char **argv)
{
    MPI_Group world;
    MPI_Init(&argc, &argv);
    get_ready(argc, argv);
    int other = me == 0;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &other, &peer);
    mine = calloc(1, LARGEST);

    MPI_Win_allocate(LARGEST, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    figures("allocated");
    MPI_Win_free(&window);

    memory = calloc(1, LARGEST);
    MPI_Win_create(memory, LARGEST, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    figures("created");
    messages("created");
    MPI_Win_free(&window);
    free(memory);
    free(mine);

    MPI_Alloc_mem(LARGEST, MPI_INFO_NULL, &mine);
    MPI_Alloc_mem(LARGEST, MPI_INFO_NULL, &memory);
    memset(mine, 0, LARGEST);
    memset(memory, 0, LARGEST);
    MPI_Win_create(memory, LARGEST, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    figures("lent");
    messages("lent");
    MPI_Win_free(&window);
    MPI_Free_mem(memory);
    MPI_Free_mem(mine);
    MPI_Group_free(&peer);
    MPI_Group_free(&world);
    MPI_Finalize();
    return 0;
}
