/* One collective, or a round trip, of the sizes that the command line names: from the first rank's begin to the last one's end, for each of many in a row; for who looks where one way of doing it becomes quicker than
 * another.
 *   crossing 0|1 NAME SIZE...        sizes are bytes, of each block where a collective has blocks */
#include "measure.h"

enum { DOUBLE = sizeof(double), SHORT = 4096, TIMES = 400 };

static double *from, *into;
static const char *which;

static int is(const char *name) { return strcmp(which, name) == 0; }

static void once(int bytes)
{
    int count = bytes / DOUBLE;
    int *counts, *starts;
    if (is("barrier")) MPI_Barrier(MPI_COMM_WORLD);
    else if (is("bcast")) MPI_Bcast(from, count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    else if (is("reduce")) MPI_Reduce(from, into, count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    else if (is("allreduce")) MPI_Allreduce(from, into, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    else if (is("gather")) MPI_Gather(from, count, MPI_DOUBLE, into, count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    else if (is("scatter")) MPI_Scatter(from, count, MPI_DOUBLE, into, count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    else if (is("allgather")) MPI_Allgather(from, count, MPI_DOUBLE, into, count, MPI_DOUBLE, MPI_COMM_WORLD);
    else if (is("alltoall")) MPI_Alltoall(from, count, MPI_DOUBLE, into, count, MPI_DOUBLE, MPI_COMM_WORLD);
    else if (is("reduce_scatter")) MPI_Reduce_scatter_block(from, into, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    else if (is("allgatherv")) {
        counts = malloc(2 * (size_t)everybody * sizeof *counts);
        starts = counts + everybody;
        for (int rank = 0; rank < everybody; rank++) counts[rank] = count, starts[rank] = rank * count;
        MPI_Allgatherv(from, count, MPI_DOUBLE, into, counts, starts, MPI_DOUBLE, MPI_COMM_WORLD);
        free(counts);
    } else if (is("message")) {
        if (me == 0) MPI_Send(from, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        if (me == 1) MPI_Recv(into, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (me == 1) MPI_Send(from, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        if (me == 0) MPI_Recv(into, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        fprintf(stderr, "%s: no such collective\n", which);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
}

static double calls(int bytes, int times)
{
    double begin = begin_together();
    for (int i = 0; i < times; i++) once(bytes);
    return end_together(begin) / times;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    get_ready(argc, argv);
    which = argc > 2 ? argv[2] : "";
    for (int at = 3; at < argc; at++) {
        int bytes = atoi(argv[at]);
        from = calloc((size_t)everybody, (size_t)bytes + DOUBLE);
        into = calloc((size_t)everybody, (size_t)bytes + DOUBLE);
        int times = bytes > SHORT ? (int)((double)TIMES * SHORT / bytes) + 4 : TIMES;
        /* Many ranks share few cores: a tenth is enough there. */
        times = repetitions(times) / (everybody > 16 ? 10 : 1) + 1;
        double seconds = best_of(calls, bytes, affordable(calls, bytes, times));
        figure(which, bytes, seconds * 1e6, "us");
        free(from);
        free(into);
    }
    MPI_Finalize();
    return 0;
}
