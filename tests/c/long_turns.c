/* Ranks that compute for long without a call of MPI do not keep others from running that share
 * their core. With "abort", one ends the job while all others compute. Without, ranks wait for each
 * other by shared memory alone, and go on as they were. */
#include "check.h"

#include <errno.h>

#ifdef __x86_64__
/* The control word of SSE, which has the rounding mode. Those of <fenv.h> need libm. */
enum { DOWNWARD = 0x2000, UPWARD = 0x4000, ROUNDING = 0x6000 };
static int rounding(void) { return __builtin_ia32_stmxcsr() & ROUNDING; }
static void round_to(int mode) { __builtin_ia32_ldmxcsr((__builtin_ia32_stmxcsr() & ~ROUNDING) | mode); }
#else
enum { DOWNWARD, UPWARD = DOWNWARD };
static int rounding(void) { return 0; }
static void round_to(int mode) { (void)mode; }
#endif

static void end_the_job(void)
{
    volatile int i = 1;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 2) MPI_Abort(MPI_COMM_WORLD, 7);
    while (i == 1) {
        i += 3;
        i -= 2;
        i -= 1;
    }
}

/* Waits for a flag, with sums whose bits depend on the rounding mode in registers meanwhile. */
static double await(volatile int *flag)
{
    double a = 1, b = 0.1, sum;
    do {
        sum = 0;
        for (int i = 0; i < 1000; i++) sum += a / (b + i);
    } while (!*flag);
    return sum;
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    if (argc > 1) end_the_job();
    MPI_Win window;
    int *flags, unit, raised = 1;
    MPI_Aint bytes;
    MPI_Win_allocate_shared(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &flags,
                            &window);
    MPI_Win_shared_query(window, 0, &bytes, &unit, &flags);
    volatile int *all = flags;
    all[rank] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    round_to(rank % 2 ? UPWARD : DOWNWARD);
    double alone = await(&raised);
    errno = 100 + rank;
    /* Each but the last waits for the one after it, so most must be interrupted. */
    if (rank + 1 < size) {
        double sum = await(&all[rank + 1]);
        CHECK(memcmp(&sum, &alone, sizeof sum) == 0);
    }
    SAME(errno, 100 + rank);
    SAME(rounding(), rank % 2 ? UPWARD : DOWNWARD);
    round_to(0);
    all[rank] = 1;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&window);
    return conclude();
}
