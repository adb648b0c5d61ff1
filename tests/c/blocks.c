/* Blocks of arrays in windows (corelace.h) against a model that moves element by element: one, two and three dimensions, many under way, waited for in every way,
 * completed by what completes everything at a target, and wrong ones. */
#include "check.h"

#include <corelace.h>

enum { MOST = 12, ELEMENTS = MOST * MOST * MOST };

static unsigned seed = 12345; /* all ranks draw the same */

static int below(int most)
{
    seed = seed * 1103515245u + 12345u;
    return (int)(seed >> 16) % most;
}

/* A block, and where it lies in two arrays. */
struct transfer {
    int ndims, block[3], extents[2][3], starts[2][3];
};

static struct transfer drawn(void)
{
    struct transfer t = {1 + below(3), {0}, {{0}}, {{0}}};
    for (int i = 0; i < t.ndims; i++) {
        t.block[i] = below(6);
        for (int side = 0; side < 2; side++) {
            t.extents[side][i] = 1 + t.block[i] + below(MOST - t.block[i]);
            t.starts[side][i] = below(t.extents[side][i] - t.block[i] + 1);
        }
    }
    return t;
}

static int elements(const struct transfer *t)
{
    int all = 1;
    for (int i = 0; i < t->ndims; i++) all *= t->block[i];
    return all;
}

/* Where the n-th element of the block lies in the array of a side. */
static int place(const struct transfer *t, int side, int n)
{
    int at = 0, index[3];
    for (int i = t->ndims - 1; i >= 0; i--) index[i] = n % t->block[i], n /= t->block[i];
    for (int i = 0; i < t->ndims; i++) at = at * t->extents[side][i] + t->starts[side][i] + index[i];
    return at;
}

static int move(int puts, const struct transfer *t, void *local, int target, MPI_Aint disp, MPI_Win win, MPI_Request *event)
{
    return puts ? MPIX_Put_block(t->ndims, t->block, local, t->extents[0], t->starts[0], MPI_INT, target, disp, t->extents[1],
                                 t->starts[1], win, event)
                : MPIX_Get_block(t->ndims, t->block, local, t->extents[0], t->starts[0], MPI_INT, target, disp, t->extents[1],
                                 t->starts[1], win, event);
}

/* Each rank works on its neighbour's window, in parts that belong to one transfer each. */
static void random_blocks(int allocated)
{
    enum { MANY = 4, ROUNDS = 30 };
    static int local[MANY][ELEMENTS], expected[MANY * ELEMENTS], *memory;
    int target = (rank + 1) % size, left = (rank + size - 1) % size;
    MPI_Win win;
    if (allocated) {
        MPI_Win_allocate(sizeof expected, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    } else {
        memory = calloc(1, sizeof expected);
        MPI_Win_create(memory, sizeof expected, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    }
    for (int round = 0; round < ROUNDS; round++) {
        int puts = round % 2 == 0;
        struct transfer t[MANY];
        MPI_Request events[MANY];
        for (int i = 0; i < MANY * ELEMENTS; i++) memory[i] = rank * 100000 + i;
        for (int k = 0; k < MANY; k++) {
            t[k] = drawn();
            for (int i = 0; i < ELEMENTS; i++) local[k][i] = -1 - rank * 100000 - k * ELEMENTS - i;
        }
        MPI_Win_fence(0, win);
        for (int k = 0; k < MANY; k++)
            SAME(move(puts, &t[k], local[k], target, k * ELEMENTS, win, &events[k]), MPI_SUCCESS);
        if (round % 3 == 0) MPI_Waitall(MANY, events, MPI_STATUSES_IGNORE);
        for (int k = 0, flag = 0; k < MANY && round % 3 == 1; k++, flag = 0)
            while (!flag) MPI_Test(&events[k], &flag, MPI_STATUS_IGNORE);
        MPI_Win_fence(0, win);
        MPI_Waitall(MANY, events, MPI_STATUSES_IGNORE); /* again, or for the first time */
        for (int i = 0; i < MANY * ELEMENTS; i++) expected[i] = rank * 100000 + i;
        for (int k = 0; k < MANY; k++)
            for (int n = 0; n < elements(&t[k]); n++) {
                int here = place(&t[k], 0, n), there = place(&t[k], 1, n);
                if (puts)
                    expected[k * ELEMENTS + there] = -1 - left * 100000 - k * ELEMENTS - here;
                else
                    SAME(local[k][here], target * 100000 + k * ELEMENTS + there);
                local[k][here] = -1 - rank * 100000 - k * ELEMENTS - here;
            }
        for (int i = 0; i < MANY * ELEMENTS; i++) SAME(memory[i], expected[i]);
        for (int k = 0; k < MANY; k++) /* nothing beside the blocks was written */
            for (int i = 0; i < ELEMENTS; i++) SAME(local[k][i], -1 - rank * 100000 - k * ELEMENTS - i);
    }
    MPI_Win_free(&win);
    if (!allocated) free(memory);
}

/* Many are begun in one epoch and completed by its end. */
static void completed_by_flush(void)
{
    enum { MANY = 200 };
    static int values[MANY], *memory;
    int target = (rank + 1) % size, one = 1, zero = 0, many = MANY;
    MPI_Request events[MANY];
    MPI_Win win;
    MPI_Win_allocate(MANY * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < MANY; i++) {
        values[i] = 1000 * rank + i;
        SAME(MPIX_Put_block(1, &one, &values[i], &one, &zero, MPI_INT, target, 0, &many, &i, win, &events[i]), MPI_SUCCESS);
        if (i % 3 == 0) MPI_Wait(&events[i], MPI_STATUS_IGNORE);
    }
    MPI_Win_flush(target, win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < MANY; i++) SAME(memory[i], 1000 * ((rank + size - 1) % size) + i);
    MPI_Waitall(MANY, events, MPI_STATUSES_IGNORE);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
}

static int class_of(int code)
{
    int class;
    MPI_Error_class(code, &class);
    return class;
}

static void mistakes(void)
{
    int *memory, local[64], block[4] = {2, 2, 2, 2}, extents[4] = {4, 4, 4, 4}, starts[4] = {0, 0, 0, 0};
    int off[3] = {3, 0, 0}, minus[3] = {-1, 0, 0}, none[3] = {0, 4, 4}, huge[3] = {1 << 30, 1 << 30, 1 << 30};
    MPI_Win win;
    MPI_Request event;
    MPI_Datatype gaps;
    MPI_Win_allocate(64 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
#define PUT(ndims, block, local, extents, starts, type, target, disp, there, at)                                        \
    class_of(MPIX_Put_block(ndims, block, local, extents, starts, type, target, disp, there, at, win, &event))
    SAME(PUT(3, block, local, extents, starts, MPI_INT, 0, 0, extents, starts), MPI_ERR_RMA_SYNC);
    MPI_Win_lock_all(0, win);
    SAME(PUT(0, block, local, extents, starts, MPI_INT, 0, 0, extents, starts), MPI_ERR_DIMS);
    SAME(PUT(4, block, local, extents, starts, MPI_INT, 0, 0, extents, starts), MPI_ERR_DIMS);
    SAME(PUT(3, block, local, extents, off, MPI_INT, 0, 0, extents, starts), MPI_ERR_ARG);
    SAME(PUT(3, block, local, extents, starts, MPI_INT, 0, 0, extents, minus), MPI_ERR_ARG);
    SAME(PUT(3, minus, local, extents, starts, MPI_INT, 0, 0, extents, starts), MPI_ERR_ARG);
    SAME(PUT(3, block, local, none, starts, MPI_INT, 0, 0, extents, starts), MPI_ERR_ARG);
    SAME(PUT(3, block, local, extents, starts, MPI_INT, 0, 0, huge, starts), MPI_ERR_ARG);
    SAME(PUT(3, block, NULL, extents, starts, MPI_INT, 0, 0, extents, starts), MPI_ERR_BUFFER);
    SAME(PUT(3, NULL, local, extents, starts, MPI_INT, 0, 0, extents, starts), MPI_ERR_ARG);
    SAME(PUT(3, block, local, extents, starts, MPI_INT, size, 0, extents, starts), MPI_ERR_RANK);
    SAME(PUT(3, block, local, extents, starts, MPI_INT, 0, -1, extents, starts), MPI_ERR_DISP);
    SAME(PUT(3, block, local, extents, starts, MPI_INT, 0, 44, extents, starts), MPI_ERR_RMA_RANGE);
    SAME(PUT(3, block, local, extents, starts, MPI_INT, 0, 42, extents, starts), MPI_SUCCESS); /* its last row fits */
    SAME(MPI_Wait(&event, MPI_STATUS_IGNORE), MPI_SUCCESS);
    MPI_Type_vector(2, 1, 2, MPI_INT, &gaps);
    MPI_Type_commit(&gaps);
    SAME(PUT(1, block, local, extents, starts, gaps, 0, 0, extents, starts), MPI_ERR_TYPE);
    MPI_Type_free(&gaps);
    SAME(PUT(3, none, local, extents, starts, MPI_INT, 0, 1 << 20, extents, starts), MPI_SUCCESS); /* nothing, anywhere */
    MPI_Wait(&event, MPI_STATUS_IGNORE);
    SAME(PUT(3, block, local, extents, starts, MPI_INT, MPI_PROC_NULL, 0, extents, starts), MPI_SUCCESS);
    MPI_Wait(&event, MPI_STATUS_IGNORE);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    random_blocks(0);
    random_blocks(1);
    completed_by_flush();
    mistakes();
    return conclude();
}
