/* OpenMP threads that all-reduce, each on a communicator of its own, and meet at OpenMP's barrier, where
 * they spin if OMP_WAIT_POLICY says so. Usage: openmp_multiple THREADS CALLERS STEPS; threads from CALLERS on
 * only meet the others. Compiled with -fopenmp. */
#include "check.h"
#include <omp.h>

enum { MOST = 16 };

int main(int argc, char **argv)
{
    int provided, wrong = 0;
    MPI_Comm comms[MOST];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int threads = atoi(argv[1]), callers = atoi(argv[2]), steps = atoi(argv[3]);
    CHECK(provided == MPI_THREAD_MULTIPLE && threads <= MOST);
    for (int i = 0; i < threads; i++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
#pragma omp parallel num_threads(threads) reduction(+ : wrong)
    {
        int me = omp_get_thread_num();
        for (int step = 0; step < steps; step++) {
            int mine = rank + step + me, sum = 0;
            if (me < callers) {
                MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comms[me]);
                wrong += sum != size * (step + me) + size * (size - 1) / 2;
            }
#pragma omp barrier
        }
    }
    SAME(wrong, 0);
    for (int i = 0; i < threads; i++) MPI_Comm_free(&comms[i]);
    return conclude();
}
