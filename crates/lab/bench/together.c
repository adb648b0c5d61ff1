/* Collectives on all ranks; the time from the first rank's begin to the last one's end, for each of many calls in a row.
 *   barrier, bcast, reduce, allreduce, scan, iallreduce (which is waited for at once)      of SIZE bytes
 *   gather, scatter, allgather, alltoall                                                   of SIZE bytes for each rank
 *   gather-whole, scatter-whole, allgather-whole, alltoall-whole                           of SIZE bytes in all, as many for each rank
 *   bcast-written, allreduce-written, allgather-written, alltoall-written                  the same as without, but each rank writes what it sends before the call and reads what it has got
 *                                                                                          after it, as programs do: then lines are in the cache of one core alone. Up to 16 ranks */
#include "measure.h"

enum { LARGEST = 512 << 10, DOUBLE = sizeof(double), LINE = 64 / DOUBLE, WRITTEN_RANKS = 16 };

static double *from, *into;

static void barrier(int count) { (void)count; MPI_Barrier(MPI_COMM_WORLD); }
static void bcast(int count) { MPI_Bcast(from, count, MPI_DOUBLE, 0, MPI_COMM_WORLD); }
static void reduce(int count) { MPI_Reduce(from, into, count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD); }
static void allreduce(int count) { MPI_Allreduce(from, into, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); }
static void scan(int count) { MPI_Scan(from, into, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); }
static void gather(int count) { MPI_Gather(from, count, MPI_DOUBLE, into, count, MPI_DOUBLE, 0, MPI_COMM_WORLD); }
static void scatter(int count) { MPI_Scatter(from, count, MPI_DOUBLE, into, count, MPI_DOUBLE, 0, MPI_COMM_WORLD); }
static void allgather(int count) { MPI_Allgather(from, count, MPI_DOUBLE, into, count, MPI_DOUBLE, MPI_COMM_WORLD); }
static void alltoall(int count) { MPI_Alltoall(from, count, MPI_DOUBLE, into, count, MPI_DOUBLE, MPI_COMM_WORLD); }

static void iallreduce(int count)
{
    MPI_Request request;
    MPI_Iallreduce(from, into, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static const struct collective {
    const char *name;
    void (*call)(int count);
    int size;
    enum { EACH, WHOLE, WRITTEN } how;
    int times;
} collectives[] = {
    {"barrier", barrier, 0, EACH, 1000},
    {"bcast", bcast, 8, EACH, 1000},
    {"bcast", bcast, 8192, EACH, 500},
    {"bcast", bcast, LARGEST, EACH, 50},
    {"reduce", reduce, 8, EACH, 1000},
    {"reduce", reduce, 8192, EACH, 500},
    {"reduce", reduce, LARGEST, EACH, 50},
    {"allreduce", allreduce, 8, EACH, 1000},
    {"allreduce", allreduce, 8192, EACH, 500},
    {"allreduce", allreduce, LARGEST, EACH, 50},
    {"iallreduce", iallreduce, 8, EACH, 1000},
    {"iallreduce", iallreduce, LARGEST, EACH, 50},
    {"scan", scan, 8, EACH, 500},
    {"scan", scan, 8192, EACH, 300},
    {"scan", scan, LARGEST, EACH, 30},
    {"gather", gather, 8, EACH, 1000},
    {"gather", gather, 8192, EACH, 300},
    {"gather-whole", gather, LARGEST, WHOLE, 50},
    {"scatter", scatter, 8, EACH, 1000},
    {"scatter", scatter, 8192, EACH, 300},
    {"scatter-whole", scatter, LARGEST, WHOLE, 50},
    {"allgather", allgather, 8, EACH, 500},
    {"allgather", allgather, 8192, EACH, 200},
    {"allgather-whole", allgather, LARGEST, WHOLE, 50},
    {"alltoall", alltoall, 8, EACH, 500},
    {"alltoall", alltoall, 4096, EACH, 200},
    {"alltoall-whole", alltoall, LARGEST, WHOLE, 50},
    {"bcast-written", bcast, 8192, WRITTEN, 500},
    {"bcast-written", bcast, 65536, WRITTEN, 100},
    {"bcast-written", bcast, LARGEST, WRITTEN, 50},
    {"allreduce-written", allreduce, 8192, WRITTEN, 500},
    {"allreduce-written", allreduce, 65536, WRITTEN, 100},
    {"allreduce-written", allreduce, LARGEST, WRITTEN, 50},
    {"allgather-written", allgather, 8192, WRITTEN, 200},
    {"allgather-written", allgather, 65536, WRITTEN, 50},
    {"alltoall-written", alltoall, 4096, WRITTEN, 200},
    {"alltoall-written", alltoall, 65536, WRITTEN, 50},
};

static const struct collective *current;

/* Writes a number of every line that this rank sends. */
static void write_lines(int count)
{
    if (current->call == bcast && me != 0) return;
    int sent = count * (current->call == alltoall ? everybody : 1);
    for (int at = 0; at < sent; at += LINE) from[at] += 1;
}

/* Reads a number of every line that it has got. */
static void read_lines(int count)
{
    const volatile double *got = current->call == bcast ? from : into;
    int numbers = count * (current->call == alltoall || current->call == allgather ? everybody : 1);
    for (int at = 0; at < numbers; at += LINE) (void)got[at];
}

static double calls(int count, int times)
{
    double begin = begin_together();
    for (int i = 0; i < times; i++) {
        if (current->how == WRITTEN) write_lines(count);
        current->call(count);
        if (current->how == WRITTEN) read_lines(count);
    }
    return end_together(begin) / times;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    get_ready(argc, argv);
    size_t block = everybody > WRITTEN_RANKS ? 8192 : 65536, room = LARGEST > block * everybody ? LARGEST : block * everybody;
    from = calloc(1, room);
    into = calloc(1, room);
    for (unsigned i = 0; i < sizeof collectives / sizeof *collectives; i++) {
        current = &collectives[i];
        if (current->how == WRITTEN && everybody > WRITTEN_RANKS) continue;
        int count = current->size / DOUBLE / (current->how == WHOLE ? everybody : 1);
        /* Many ranks share few cores: a tenth is enough there. */
        int times = repetitions(current->times) / (everybody > 16 ? 10 : 1) + 1;
        double seconds = best_of(calls, count, affordable(calls, count, times));
        if (current->call == barrier)
            figure_of(current->name, 0, "none", seconds * 1e6, "us");
        else
            figure(current->name, current->size, seconds * 1e6, "us");
    }
    free(from);
    free(into);
    MPI_Finalize();
    return 0;
}
