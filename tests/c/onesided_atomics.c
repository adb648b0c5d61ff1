/* One-sided: accumulate operations lose nothing, on windows of the program's memory and of the library's. An argument says how many elements
 * a long row has. */
#include "check.h"
#include <stddef.h>

static MPI_Win window_of(int allocated, MPI_Aint bytes, void **base)
{
    MPI_Win win;
    if (allocated) {
        MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, base, &win);
    } else {
        *base = calloc(1, bytes);
        MPI_Win_create(*base, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    }
    return win;
}

static void done_with(int allocated, MPI_Win win, void *base)
{
    MPI_Win_free(&win);
    if (!allocated) free(base);
}

/* All ranks count at rank 0, itself among them, in every type and by every function. */
static void counting(int allocated)
{
    enum { TIMES = 400 };
    struct counters {
        long of_longs, taken, swapped;
        int of_ints;
        double of_doubles;
        short of_shorts;
        long row[400];
    } * here;
    MPI_Win win = window_of(allocated, sizeof(struct counters), (void **)&here);
    const MPI_Aint longs = offsetof(struct counters, of_longs), taken = offsetof(struct counters, taken),
                   swapped = offsetof(struct counters, swapped), ints = offsetof(struct counters, of_ints),
                   doubles = offsetof(struct counters, of_doubles), shorts = offsetof(struct counters, of_shorts),
                   row = offsetof(struct counters, row);
    long one = 1, was, row_of_ones[400], last = -1;
    int one_int = 1;
    short one_short = 1;
    double one_double = 1;
    for (int i = 0; i < 400; i++) row_of_ones[i] = 1;
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < TIMES; i++) {
        MPI_Request request;
        SAME(MPI_Fetch_and_op(&one, &was, MPI_LONG, 0, longs, MPI_SUM, win), MPI_SUCCESS);
        MPI_Win_flush(0, win);
        CHECK(was > last && was < (long)TIMES * size);
        last = was;
        SAME(MPI_Accumulate(&one_int, 1, MPI_INT, 0, ints, 1, MPI_INT, MPI_SUM, win), MPI_SUCCESS);
        SAME(MPI_Raccumulate(&one_double, 1, MPI_DOUBLE, 0, doubles, 1, MPI_DOUBLE, MPI_SUM, win, &request), MPI_SUCCESS);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        SAME(MPI_Accumulate_c(&one_short, 1, MPI_SHORT, 0, shorts, 1, MPI_SHORT, MPI_SUM, win), MPI_SUCCESS);
        /* A long row, whose seventh is a counter for others meanwhile. */
        SAME(MPI_Accumulate(row_of_ones, 400, MPI_LONG, 0, row, 400, MPI_LONG, MPI_SUM, win), MPI_SUCCESS);
        SAME(MPI_Accumulate(row_of_ones, 5, MPI_LONG, 0, row + 7 * sizeof(long), 5, MPI_LONG, MPI_SUM, win), MPI_SUCCESS);
        SAME(MPI_Fetch_and_op(&one, &was, MPI_LONG, 0, row + 7 * sizeof(long), MPI_SUM, win), MPI_SUCCESS);
        MPI_Win_flush_local(0, win);
        SAME(MPI_Get_accumulate(&one, 1, MPI_LONG, &was, 1, MPI_LONG, 0, taken, 1, MPI_LONG, MPI_SUM, win), MPI_SUCCESS);
        MPI_Win_flush_local(0, win);
        for (long now = 0, seen;; now = seen) { /* adds one by compare-and-swap */
            long next = now + 1;
            SAME(MPI_Compare_and_swap(&next, &now, &seen, MPI_LONG, 0, swapped, win), MPI_SUCCESS);
            MPI_Win_flush(0, win);
            if (seen == now) break;
        }
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        SAME(here->of_longs, (long)TIMES * size);
        SAME(here->taken, (long)TIMES * size);
        SAME(here->swapped, (long)TIMES * size);
        SAME(here->of_ints, TIMES * size);
        SAME(here->of_doubles, TIMES * size);
        SAME(here->of_shorts, TIMES * size);
        for (int i = 0; i < 400; i++) SAME(here->row[i], (long)TIMES * size * (1 + (i >= 7 && i < 12) + (i == 7)));
        MPI_Win_unlock(0, win);
    }
    done_with(allocated, win, here);
}

/* Exclusive locks keep others out, also those who lock all members; shared ones do not. */
static void locks(int allocated)
{
    enum { TIMES = 200 };
    long *here, now, sum = 0;
    MPI_Win win = window_of(allocated, 2 * sizeof(long), (void **)&here);
    for (int i = 0; i < TIMES; i++) {
        int home = i % size;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, home, 0, win);
        MPI_Get(&now, 1, MPI_LONG, home, 0, 1, MPI_LONG, win);
        MPI_Win_flush(home, win);
        now++;
        MPI_Put(&now, 1, MPI_LONG, home, 0, 1, MPI_LONG, win);
        MPI_Put(&now, 1, MPI_LONG, home, sizeof(long), 1, MPI_LONG, win);
        MPI_Win_unlock(home, win);
        if (i % 10 == 0) {
            MPI_Win_lock_all(0, win);
            for (int of = 0; of < size; of++) {
                long both[2];
                MPI_Get(both, 2, MPI_LONG, of, 0, 2, MPI_LONG, win);
                MPI_Win_flush(of, win);
                SAME(both[0], both[1]);
            }
            MPI_Win_unlock_all(win);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Allreduce(here, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    SAME(sum, (long)TIMES * size);
    done_with(allocated, win, here);
}

/* What each operation makes of what was there, in the order in which they were called. */
static void operations(int allocated)
{
    struct pair { double value; int place; } *pairs, mine = {rank + 0.5, rank}, seen;
    unsigned *here, value = 6, old;
    MPI_Win win = window_of(allocated, 64 * sizeof(unsigned), (void **)&here);
    int target = (rank + 1) % size;
    static const struct { MPI_Op op; unsigned from, with, to; } steps[] = {
        {0, 12, 10, 22}, {0, 12, 10, 120}, {0, 12, 10, 12}, {0, 12, 10, 10}, {0, 12, 10, 8},
        {0, 12, 10, 14}, {0, 12, 10, 6},   {0, 12, 0, 0},   {0, 12, 0, 1},   {0, 12, 10, 0}, {0, 12, 10, 10},
    };
    const MPI_Op ops[] = {MPI_SUM, MPI_PROD, MPI_MAX, MPI_MIN, MPI_BAND, MPI_BOR, MPI_BXOR, MPI_LAND, MPI_LOR, MPI_LXOR, MPI_REPLACE};
    MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
    for (int i = 0; i < 11; i++) {
        MPI_Accumulate(&steps[i].from, 1, MPI_UNSIGNED, target, 4 * i, 1, MPI_UNSIGNED, MPI_REPLACE, win);
        SAME(MPI_Fetch_and_op(&steps[i].with, &old, MPI_UNSIGNED, target, 4 * i, ops[i], win), MPI_SUCCESS);
        MPI_Win_flush(target, win);
        SAME(old, 12);
        SAME(MPI_Fetch_and_op(NULL, &old, MPI_UNSIGNED, target, 4 * i, MPI_NO_OP, win), MPI_SUCCESS);
        MPI_Win_flush_local(target, win);
        SAME(old, steps[i].to);
    }
    /* A row that is scattered here and there; what was there comes back in the order of the origin's. */
    MPI_Datatype every_other;
    unsigned row[16], before[8];
    MPI_Request request;
    MPI_Type_vector(8, 1, 2, MPI_UNSIGNED, &every_other);
    MPI_Type_commit(&every_other);
    for (int i = 0; i < 16; i++) row[i] = i;
    MPI_Put(row, 16, MPI_UNSIGNED, target, 128, 16, MPI_UNSIGNED, win);
    MPI_Win_flush(target, win);
    SAME(MPI_Rget_accumulate(row, 1, every_other, before, 8, MPI_UNSIGNED, target, 128, 1, every_other, MPI_SUM, win, &request),
         MPI_SUCCESS);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < 8; i++) SAME(before[i], 2 * i);
    MPI_Request request_c;
    SAME(MPI_Rget_accumulate_c(NULL, 0, MPI_DATATYPE_NULL, row, 16, MPI_UNSIGNED, target, 128, 16, MPI_UNSIGNED, MPI_NO_OP, win,
                               &request_c),
         MPI_SUCCESS);
    MPI_Wait(&request_c, MPI_STATUS_IGNORE);
    for (int i = 0; i < 16; i++) SAME(row[i], i % 2 ? i : 2 * i);
    /* A word that does not lie at a multiple of its width. */
    SAME(MPI_Accumulate(&value, 1, MPI_UNSIGNED, target, 202, 1, MPI_UNSIGNED, MPI_REPLACE, win), MPI_SUCCESS);
    SAME(MPI_Fetch_and_op(&value, &old, MPI_UNSIGNED, target, 202, MPI_SUM, win), MPI_SUCCESS);
    MPI_Win_flush(target, win);
    SAME(old, 6);
    SAME(MPI_Compare_and_swap(&value, &value, &old, MPI_UNSIGNED, target, 202, win), MPI_SUCCESS);
    MPI_Win_flush(target, win);
    SAME(old, 12);
    char letter = 'b', nothing = 0, found = 'x';
    SAME(MPI_Compare_and_swap(&letter, &nothing, &found, MPI_CHAR, target, 255, win), MPI_SUCCESS);
    MPI_Win_flush(target, win);
    SAME(found, 0);
    SAME(MPI_Compare_and_swap(&nothing, &nothing, &found, MPI_CHAR, target, 255, win), MPI_SUCCESS);
    MPI_Win_flush(target, win);
    SAME(found, 'b');
    MPI_Win_unlock(target, win);
    MPI_Type_free(&every_other);
    done_with(allocated, win, here);

    win = window_of(allocated, sizeof(struct pair), (void **)&pairs);
    MPI_Win_fence(0, win);
    pairs->value = -1, pairs->place = -1;
    MPI_Win_fence(0, win);
    SAME(MPI_Accumulate(&mine, 1, MPI_DOUBLE_INT, 0, 0, 1, MPI_DOUBLE_INT, MPI_MAXLOC, win), MPI_SUCCESS);
    MPI_Win_fence(0, win);
    SAME(MPI_Get(&seen, 1, MPI_DOUBLE_INT, 0, 0, 1, MPI_DOUBLE_INT, win), MPI_SUCCESS);
    MPI_Win_fence(0, win);
    CHECK(seen.value == size - 0.5 && seen.place == size - 1);
    done_with(allocated, win, pairs);
}

/* Long rows, of which each element is a step of its own. */
static void rows(int allocated, int many)
{
    double *here, *ones = malloc(many * sizeof(double));
    MPI_Win win = window_of(allocated, many * sizeof(double), (void **)&here);
    for (int i = 0; i < many; i++) ones[i] = i;
    MPI_Win_fence(0, win);
    for (int to = 0; to < size; to++)
        SAME(MPI_Accumulate(ones, many, MPI_DOUBLE, to, 0, many, MPI_DOUBLE, MPI_SUM, win), MPI_SUCCESS);
    MPI_Win_fence(0, win);
    for (int i = 0; i < many; i++) SAME(here[i], (double)i * size);
    done_with(allocated, win, here);
    free(ones);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    for (int allocated = 0; allocated < 2; allocated++) {
        counting(allocated);
        locks(allocated);
        operations(allocated);
        rows(allocated, argc > 1 ? atoi(argv[1]) : 40000);
    }
    return conclude();
}
