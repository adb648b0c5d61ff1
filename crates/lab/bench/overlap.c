/* How much of a communication is hidden under a computation that takes as long as the communication alone:
 *   overlap-isend        MPI_Isend on rank 0, MPI_Irecv on rank 1, both compute
 *   overlap-iallreduce   MPI_Iallreduce on both
 * 100 % if both together take no longer than the computation, 0 % if they take as long as one after the other. The median. */
#include "measure.h"

enum { SIZE = 1 << 20, TIMES = 100, LEAST_TIMES = 20 };

static double *from, *into;

static void exchange(MPI_Request *request)
{
    if (me == 0)
        MPI_Isend(from, SIZE, MPI_BYTE, 1, 0, MPI_COMM_WORLD, request);
    else
        MPI_Irecv(into, SIZE, MPI_BYTE, 0, 0, MPI_COMM_WORLD, request);
}

static void sum_up(MPI_Request *request)
{
    MPI_Iallreduce(from, into, SIZE / (int)sizeof *from, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, request);
}

/* Work that stays in registers. */
static void compute(double seconds)
{
    volatile double sink;
    double value = 1, end = MPI_Wtime() + seconds;
    while (MPI_Wtime() < end)
        for (int i = 0; i < 200; i++) value = value * 0.999 + 0.001;
    sink = value;
    (void)sink;
}

/* Seconds from the first one's start of both to the last one's end. */
static double together(void (*begin_it)(MPI_Request *), double computing)
{
    double times[TIMES];
    int count = quick ? LEAST_TIMES : TIMES;
    for (int i = 0; i < count; i++) {
        MPI_Request request;
        double begin = begin_together();
        begin_it(&request);
        if (computing > 0) compute(computing);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        times[i] = end_together(begin);
    }
    return median_of(times, count);
}

static void measure(const char *name, void (*begin_it)(MPI_Request *))
{
    together(begin_it, 0);
    double alone = together(begin_it, 0), both = together(begin_it, alone);
    double hidden = 1 - (both - alone) / alone;
    figure(name, SIZE, 100 * (hidden < 0 ? 0 : hidden > 1 ? 1 : hidden), "%");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    get_ready(argc, argv);
    from = calloc(1, SIZE);
    into = calloc(1, SIZE);
    measure("overlap-isend", exchange);
    measure("overlap-iallreduce", sum_up);
    free(from);
    free(into);
    MPI_Finalize();
    return 0;
}
