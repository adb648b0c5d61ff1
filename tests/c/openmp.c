/* A parallel region whose master calls MPI: each region has the team it asked for. Compiled with -fopenmp. */
#include "check.h"

int main(int argc, char **argv)
{
    int provided, counted = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int round = 0; round < 3; round++) {
#pragma omp parallel num_threads(2) reduction(+ : counted)
        {
            counted++;
#pragma omp master
            MPI_Barrier(MPI_COMM_WORLD);
#pragma omp barrier
        }
    }
    SAME(counted, 6);
    return conclude();
}
