/* The first rank sends more than fits into the mailbox of the second, which is elsewhere for a second. Meanwhile the sender must leave its core to
 * others: the processor time that it takes is a fiftieth at most of the time that it waits. */
#include "check.h"

#include <time.h>

enum { MESSAGES = 2000, MILLISECONDS = 1000 };

static double processor_time(void)
{
    struct timespec used; /* of the thread: ranks may share a process */
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return used.tv_sec + 1e-9 * used.tv_nsec;
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        double began = MPI_Wtime(), used = processor_time();
        for (int i = 0; i < MESSAGES; i++) MPI_Send(&i, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        double waited = MPI_Wtime() - began;
        used = processor_time() - used;
        CHECK(waited > 0.5 * MILLISECONDS / 1000);
        if (used > waited / 50) fprintf(stderr, "%.3f s of processor time in %.3f s of waiting\n", used, waited), failures++;
    } else if (rank == 1) {
        /* Not to give the others time, but because to be away is what this is about. */
        struct timespec away = {MILLISECONDS / 1000, MILLISECONDS % 1000 * 1000000};
        nanosleep(&away, NULL);
        for (int i = 0, got; i < MESSAGES; i++) {
            MPI_Recv(&got, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            SAME(got, i);
        }
    }
    return conclude();
}
