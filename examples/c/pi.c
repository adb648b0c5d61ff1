/* Pi by the midpoint rule: broadcast the number of intervals, sum the parts.   usage: pi [INTERVALS] */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, size;
    long intervals = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0) intervals = argc > 1 ? atol(argv[1]) : 1000000;
    MPI_Bcast(&intervals, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    if (intervals < 1) {
        if (rank == 0) fprintf(stderr, "pi: the number of intervals is %ld, expected 1 or more\n", intervals);
        MPI_Finalize();
        return 2;
    }

    double part = 0, sum, width = 1.0 / (double)intervals;
    for (long i = rank; i < intervals; i += size) {
        double x = width * ((double)i + 0.5);
        part += 4 / (1 + x * x);
    }
    part *= width;
    MPI_Reduce(&part, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("pi is about %.10f with %ld intervals, error below %.0e\n", sum, intervals, 1e-8);
    int wrong = rank == 0 && intervals >= 100000 && fabs(sum - 3.14159265358979) > 1e-8;
    MPI_Finalize();
    return wrong;
}
