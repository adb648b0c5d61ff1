/* The last rank is elsewhere for a while, and the others wait for it: in a receive, then in a barrier. How they wait is the argument: "asleep", with a fiftieth at
 * most of the time that they wait, or "awake", with far more. */
#include "check.h"

#include <time.h>

enum { MILLISECONDS = 500 };

static double processor_time(void)
{
    struct timespec used; /* of the thread: ranks may share a process */
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return used.tv_sec + 1e-9 * used.tv_nsec;
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    int awake = argc > 1 && strcmp(argv[1], "awake") == 0, last = size - 1, got = -1;
    for (int how = 0; how < 2; how++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double began = MPI_Wtime(), used = processor_time();
        if (rank == last) {
            /* Not to give the others time, but because to be away is what this is about. */
            struct timespec away = {MILLISECONDS / 1000, MILLISECONDS % 1000 * 1000000};
            nanosleep(&away, NULL);
        }
        if (how == 1)
            MPI_Barrier(MPI_COMM_WORLD);
        else if (rank == last)
            for (int to = 0; to < last; to++) MPI_Send(&to, 1, MPI_INT, to, 0, MPI_COMM_WORLD);
        else {
            MPI_Recv(&got, 1, MPI_INT, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            SAME(got, rank);
        }
        double waited = MPI_Wtime() - began;
        used = processor_time() - used;
        CHECK(waited > 0.9 * MILLISECONDS / 1000);
        if (rank < last && (awake ? used < waited / 20 : used > waited / 50))
            fprintf(stderr, "%.3f s of processor time in %.3f s of waiting\n", used, waited), failures++;
    }
    return conclude();
}
