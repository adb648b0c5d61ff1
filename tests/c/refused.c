/* The first rank sends more than fits into the mailbox of the second, which is elsewhere for a second. Meanwhile the sender must leave its core to
 * others: the processor time that it takes is a fiftieth at most of the time that it waits. Once in a while the machine below takes the core away from whoever runs, and the time that it was away is counted as that
 * one's: so one of three attempts is enough, and only one is made if that is good. */
#include "check.h"

#include <time.h>

enum { MESSAGES = 2000, MILLISECONDS = 1000, ATTEMPTS = 3 };

static double processor_time(void)
{
    struct timespec used; /* of the thread: ranks may share a process */
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return used.tv_sec + 1e-9 * used.tv_nsec;
}

/* True if the first rank has left its core to others; it alone knows. */
static int leaves_its_core(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        double began = MPI_Wtime(), used = processor_time();
        for (int i = 0; i < MESSAGES; i++) MPI_Send(&i, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        double waited = MPI_Wtime() - began;
        used = processor_time() - used;
        CHECK(waited > 0.5 * MILLISECONDS / 1000);
        if (used > waited / 50) fprintf(stderr, "%.3f s of processor time in %.3f s of waiting\n", used, waited);
        return used <= waited / 50;
    }
    if (rank == 1) {
        /* Not to give the others time, but because to be away is what this is about. */
        struct timespec away = {MILLISECONDS / 1000, MILLISECONDS % 1000 * 1000000};
        nanosleep(&away, NULL);
        for (int i = 0, got; i < MESSAGES; i++) {
            MPI_Recv(&got, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            SAME(got, i);
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    int good = 0;
    for (int attempt = 0; attempt < ATTEMPTS && !good; attempt++) {
        good = leaves_its_core();
        MPI_Bcast(&good, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    CHECK(good);
    return conclude();
}
