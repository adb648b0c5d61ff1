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
    enum { BUSY = 1 };
    begin(&argc, &argv);
    for (int allocated = 0; allocated < 2; allocated++) {
        volatile long *memory;
        long *base, value = 5, was = -1, one = 1;
        MPI_Win win;
        if (allocated) {
            MPI_Win_allocate(2 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
        } else {
            base = calloc(2, sizeof(long));
            MPI_Win_create(base, 2 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        }
        memory = base;
        MPI_Barrier(MPI_COMM_WORLD);
        double start = now();
        if (rank == 1) {
            while (now() < start + BUSY) memory[1]++; /* no call of MPI */
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
            CHECK(now() - start < BUSY / 2.0);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_free(&win);
        if (!allocated) free(base);
    }
    return conclude();
}
