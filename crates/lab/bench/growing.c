/* How collectives grow with the number of ranks:   growth-barrier   growth-allreduce (8 bytes)   from the first rank's begin to the last one's end, for each of many in a row */
#include "measure.h"

static double barriers(int size, int times)
{
    (void)size;
    double begin = begin_together();
    for (int i = 0; i < times; i++) MPI_Barrier(MPI_COMM_WORLD);
    return end_together(begin) / times;
}

static double allreduces(int size, int times)
{
    double mine = me, sum;
    (void)size;
    double begin = begin_together();
    for (int i = 0; i < times; i++) MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return end_together(begin) / times;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    get_ready(argc, argv);
    int times = repetitions(everybody < 100 ? 2000 : 200000 / everybody);
    figure_of("growth-barrier", 0, "none", best_of(barriers, 0, times) * 1e6, "us");
    figure("growth-allreduce", 8, best_of(allreduces, 8, times) * 1e6, "us");
    MPI_Finalize();
    return 0;
}
