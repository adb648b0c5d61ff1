/* One-sided: a target that computes, without a call of MPI, delays nobody who reaches into its memory. Ranks 0 and 1; as fibers with a worker each. */
#include "check.h"
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
    enum { OVER = 7, PATIENCE = 60 };
    begin(&argc, &argv);
    for (int allocated = 0; allocated < 2; allocated++) {
        volatile long *memory;
        long *base, value = 5, was = -1, one = 1, over = OVER;
        MPI_Win win;
        if (allocated) {
            MPI_Win_allocate(2 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
        } else {
            base = calloc(2, sizeof(long));
            MPI_Win_create(base, 2 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        }
        memory = base;
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 1) {
            /* No call of MPI, until its memory says that rank 0 is through. */
            for (double start = now(); memory[0] != OVER && now() < start + PATIENCE;) memory[1]++;
            SAME(memory[0], OVER);
        } else if (rank == 0) {
            MPI_Win_lock_all(0, win);
            SAME(MPI_Put(&value, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win), MPI_SUCCESS);
            MPI_Win_flush(1, win);
            SAME(MPI_Fetch_and_op(&one, &was, MPI_LONG, 1, 0, MPI_SUM, win), MPI_SUCCESS);
            MPI_Win_flush(1, win);
            SAME(was, 5);
            MPI_Win_unlock_all(win);
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
            SAME(MPI_Get(&was, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win), MPI_SUCCESS);
            MPI_Win_unlock(1, win);
            SAME(was, 6);
            /* This lock is the second: the first was given back. */
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
            SAME(MPI_Put(&over, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win), MPI_SUCCESS);
            MPI_Win_unlock(1, win);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_free(&win);
        if (!allocated) free(base);
    }
    return conclude();
}
