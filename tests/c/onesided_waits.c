/* One-sided: who waits for whom, in every kind of epoch. Rank 0 has a lock that rank 1 wants; rank 2 posts late; rank 1 completes late; rank 0 comes last to a
   fence. Three ranks. */
#include "check.h"

#include <time.h>

enum { KIB = 1024 };
static const double LATE = 0.05;

static double processor_time(void)
{
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return used.tv_sec + 1e-9 * used.tv_nsec;
}

/* Counted in the processor's time: by the clock a rank that does not get a core meanwhile would come too late to wait for this one. */
static void work(void)
{
    double end = processor_time() + LATE;
    while (processor_time() < end) continue;
}

int main(int argc, char **argv)
{
    static char data[4 * KIB];
    char *memory;
    long one = 1, was, expected = 0;
    int token = 0, members[2] = {1, 2};
    MPI_Win win;
    MPI_Group all, origin, target;
    begin(&argc, &argv);
    MPI_Win_allocate(4 * KIB, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    memset(memory, 0, 4 * KIB);
    MPI_Barrier(MPI_COMM_WORLD);

    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 2, 0, win);
        MPI_Send(&token, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        MPI_Put(data, 4 * KIB, MPI_BYTE, 2, 0, 4 * KIB, MPI_BYTE, win);
        work();
        MPI_Win_unlock(2, win);
    } else if (rank == 1) {
        MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Win_lock(MPI_LOCK_SHARED, 2, 0, win);
        MPI_Fetch_and_op(&one, &was, MPI_LONG, 2, 0, MPI_SUM, win);
        MPI_Win_flush(2, win);
        SAME(was, 0);
        MPI_Compare_and_swap(&one, &expected, &was, MPI_LONG, 2, 8, win);
        MPI_Accumulate(&one, 1, MPI_LONG, 2, 16, 1, MPI_LONG, MPI_SUM, win);
        MPI_Win_unlock(2, win);
        SAME(was, 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);

    MPI_Win_get_group(win, &all);
    MPI_Group_incl(all, 1, &members[0], &origin);
    MPI_Group_incl(all, 1, &members[1], &target);
    if (rank == 2) {
        work();
        MPI_Win_post(origin, 0, win);
        MPI_Win_wait(win);
    } else if (rank == 1) {
        MPI_Win_start(target, 0, win);
        MPI_Get(data, KIB, MPI_BYTE, 2, 0, KIB, MPI_BYTE, win);
        work();
        MPI_Win_complete(win);
    }
    MPI_Barrier(MPI_COMM_WORLD);

    if (rank == 0) work();
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);

    MPI_Group_free(&all);
    MPI_Group_free(&origin);
    MPI_Group_free(&target);
    MPI_Win_free(&win);
    return conclude();
}
