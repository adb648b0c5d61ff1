/* Collectives on all ranks, one figure a line:   figure NAME SIZE VALUE us      (time of the slowest rank)
 * usage: together QUICK                                                                               */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static double *from, *into;
static int me, everybody;

static void barrier(int count) { (void)count; MPI_Barrier(MPI_COMM_WORLD); }
static void bcast(int count) { MPI_Bcast(from, count, MPI_DOUBLE, 0, MPI_COMM_WORLD); }
static void allreduce(int count) { MPI_Allreduce(from, into, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); }
static void allgather(int count) { MPI_Allgather(from, count, MPI_DOUBLE, into, count, MPI_DOUBLE, MPI_COMM_WORLD); }
static void alltoall(int count) { MPI_Alltoall(from, count, MPI_DOUBLE, into, count, MPI_DOUBLE, MPI_COMM_WORLD); }

static const struct {
    const char *name;
    void (*call)(int);
    int count, times;
} figures[] = {
    {"barrier", barrier, 0, 2000},     {"bcast", bcast, 1, 2000},         {"allreduce", allreduce, 1, 2000},
    {"allgather", allgather, 1, 1000}, {"alltoall", alltoall, 1, 500},    {"bcast", bcast, 32768, 100},
    {"allreduce", allreduce, 32768, 100},
};

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &everybody);
    int quick = argc > 1 && atoi(argv[1]);
    from = calloc(32768, sizeof *from);
    into = calloc(32768 > everybody ? 32768 : everybody, sizeof *into);
    for (unsigned i = 0; i < sizeof figures / sizeof *figures; i++) {
        int times = figures[i].times / (quick ? 10 : 1) / (everybody > 8 ? everybody / 8 : 1) + 1;
        double best = 1e9, slowest;
        for (int attempt = 0; attempt < 4; attempt++) {
            MPI_Barrier(MPI_COMM_WORLD);
            double begin = MPI_Wtime();
            for (int k = 0; k < times; k++) figures[i].call(figures[i].count);
            double each = (MPI_Wtime() - begin) / times;
            if (each < best) best = each;
        }
        MPI_Allreduce(&best, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        if (me == 0) printf("figure %s %d %.4f us\n", figures[i].name, figures[i].count * 8, slowest * 1e6);
    }
    free(from);
    free(into);
    MPI_Finalize();
    return 0;
}
