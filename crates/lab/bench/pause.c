/* What a rank finds after it has computed, while the other has waited for its message:
 *   pause-send          the call of MPI_Send, after so many microseconds of computation; the median
 *   pause-round-trip    from that call to the answer; the median
 *   pause-processor     processor time of a rank that waits for so many milliseconds */
#define _GNU_SOURCE
#include "measure.h"
#include <time.h>

enum { MOST_TRIPS = 1000, QUICK_TRIPS = 100, WAIT = 2000, QUICK_WAIT = 200 };

static void compute(double microseconds)
{
    double end = MPI_Wtime() + microseconds * 1e-6;
    while (MPI_Wtime() < end) {}
}

static void after(int microseconds)
{
    static double sends[MOST_TRIPS], trips[MOST_TRIPS];
    int count = quick ? QUICK_TRIPS : MOST_TRIPS, data = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < count; i++) {
        if (me == 0) {
            compute(microseconds);
            double begin = MPI_Wtime();
            MPI_Send(&data, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
            sends[i] = MPI_Wtime() - begin;
            MPI_Recv(&data, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            trips[i] = MPI_Wtime() - begin;
        } else if (me == 1) {
            MPI_Recv(&data, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(&data, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        }
    }
    if (me != 0) return;
    figure_of("pause-round-trip", microseconds, "us", median_of(trips, count) * 1e6, "us");
    figure_of("pause-send", microseconds, "us", median_of(sends, count) * 1e6, "us");
}

/* Milliseconds that this process has used, with all ranks that share it. */
static double processor_time(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec * 1e3 + time.tv_nsec * 1e-6;
}

static void waiting(int milliseconds)
{
    double used = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) {
        struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
        nanosleep(&time, 0);
        MPI_Send(&used, 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD);
        MPI_Recv(&used, 1, MPI_DOUBLE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        figure_of("pause-processor", milliseconds, "ms", used, "ms");
    } else if (me == 1) {
        double begin = processor_time();
        MPI_Recv(&used, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        used = processor_time() - begin;
        MPI_Send(&used, 1, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    static const int pauses[] = {0, 100, 300, 1000};
    MPI_Init(&argc, &argv);
    get_ready(argc, argv);
    for (unsigned i = 0; i < sizeof pauses / sizeof *pauses; i++) after(pauses[i]);
    waiting(quick ? QUICK_WAIT : WAIT);
    MPI_Finalize();
    return 0;
}
