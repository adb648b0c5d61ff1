/* How collectives grow with the number of ranks:   growth-barrier   growth-allreduce (8 bytes)   the time of the slowest rank */
#include "measure.h"

static double barriers(int size, int times)
{
    (void)size;
    double begin = MPI_Wtime();
    for (int i = 0; i < times; i++) MPI_Barrier(MPI_COMM_WORLD);
    return (MPI_Wtime() - begin) / times;
}

static double allreduces(int size, int times)
{
    double mine = me, sum;
    (void)size;
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    for (int i = 0; i < times; i++) MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return (MPI_Wtime() - begin) / times;
}

static double slowest(double mine)
{
    double most;
    MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return most;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    get_ready(argc, argv);
    int times = repetitions(everybody < 100 ? 2000 : 200000 / everybody);
    figure_of("growth-barrier", 0, "none", slowest(best_of(barriers, 0, times)) * 1e6, "us");
    figure("growth-allreduce", 8, slowest(best_of(allreduces, 8, times)) * 1e6, "us");
    MPI_Finalize();
    return 0;
}
