/* Collectives on all ranks; the time of the slowest rank.
 *   barrier, bcast, reduce, allreduce, scan, iallreduce (which is waited for at once)      of SIZE bytes
 *   gather, scatter, allgather, alltoall                                                   of SIZE bytes for each rank
 *   gather-whole, scatter-whole, allgather-whole, alltoall-whole                           of SIZE bytes in all, as many for each rank */
#include "measure.h"

enum { LARGEST = 512 << 10, DOUBLE = sizeof(double) };

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
    int size, is_whole, times;
} collectives[] = {
    {"barrier", barrier, 0, 0, 1000},
    {"bcast", bcast, 8, 0, 1000},
    {"bcast", bcast, 8192, 0, 500},
    {"bcast", bcast, LARGEST, 0, 50},
    {"reduce", reduce, 8, 0, 1000},
    {"reduce", reduce, 8192, 0, 500},
    {"reduce", reduce, LARGEST, 0, 50},
    {"allreduce", allreduce, 8, 0, 1000},
    {"allreduce", allreduce, 8192, 0, 500},
    {"allreduce", allreduce, LARGEST, 0, 50},
    {"iallreduce", iallreduce, 8, 0, 1000},
    {"iallreduce", iallreduce, LARGEST, 0, 50},
    {"scan", scan, 8, 0, 500},
    {"scan", scan, 8192, 0, 300},
    {"scan", scan, LARGEST, 0, 30},
    {"gather", gather, 8, 0, 1000},
    {"gather", gather, 8192, 0, 300},
    {"gather-whole", gather, LARGEST, 1, 50},
    {"scatter", scatter, 8, 0, 1000},
    {"scatter", scatter, 8192, 0, 300},
    {"scatter-whole", scatter, LARGEST, 1, 50},
    {"allgather", allgather, 8, 0, 500},
    {"allgather", allgather, 8192, 0, 200},
    {"allgather-whole", allgather, LARGEST, 1, 50},
    {"alltoall", alltoall, 8, 0, 500},
    {"alltoall", alltoall, 4096, 0, 200},
    {"alltoall-whole", alltoall, LARGEST, 1, 50},
};

static const struct collective *current;

static double slowest(int count, int times)
{
    double mine, most;
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    for (int i = 0; i < times; i++) current->call(count);
    mine = (MPI_Wtime() - begin) / times;
    MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return most;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    get_ready(argc, argv);
    size_t room = LARGEST > 8192 * (size_t)everybody ? LARGEST : 8192 * (size_t)everybody;
    from = calloc(1, room);
    into = calloc(1, room);
    for (unsigned i = 0; i < sizeof collectives / sizeof *collectives; i++) {
        current = &collectives[i];
        int count = current->size / DOUBLE / (current->is_whole ? everybody : 1);
        /* Many ranks share few cores: a tenth is enough there. */
        int times = repetitions(current->times) / (everybody > 16 ? 10 : 1) + 1;
        double seconds = best_of(slowest, count, affordable(slowest, count, times));
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
