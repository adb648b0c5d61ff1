/* What the programs share: who this rank is, how much there is to do, and how a figure is printed:   figure NAME SIZE[:OF] VALUE UNIT
 * Every program is called with one argument: 1 for a look with a tenth of the repetitions, 0 for a measurement.          */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ATTEMPTS = 3 };

static int me, everybody, quick;

/* After MPI_Init. What is printed before a time limit ends the job is not lost. */
static inline void get_ready(int argc, char **argv)
{
    quick = argc > 1 && atoi(argv[1]);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &everybody);
    setvbuf(stdout, 0, _IOLBF, 0);
}

static inline int repetitions(int times)
{
    return times / (quick ? 10 : 1) + 1;
}

/* Rank 0 prints for all. */
static inline void figure_of(const char *name, long size, const char *of, double value, const char *unit)
{
    if (me != 0) return;
    printf(*of ? "figure %s %ld:%s %.6g %s\n" : "figure %s %ld%s %.6g %s\n", name, size, of, value, unit);
    fflush(stdout);
}

static inline void figure(const char *name, long size, double value, const char *unit)
{
    figure_of(name, size, "", value, unit);
}

/* The least of several attempts, after a tenth of one to warm up. `measure` gives the seconds of one repetition. */
static inline double best_of(double (*measure)(int size, int times), int size, int times)
{
    double best = measure(size, times / 10 + 1);
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        double each = measure(size, times);
        if (each < best) best = each;
    }
    return best;
}

/* As many repetitions as there is time for, at most `times`: where ranks share cores, some libraries take a thousand times as long. All ranks have to agree on what
 * `measure` gives. */
static inline int affordable(double (*measure)(int size, int times), int size, int times)
{
    static const double seconds_of_an_attempt = 0.3;
    double most = seconds_of_an_attempt / measure(size, times / 50 + 1);
    return most < times ? (int)most + 1 : times;
}

static inline int ascending(const void *a, const void *b)
{
    double difference = *(const double *)a - *(const double *)b;
    return (difference > 0) - (difference < 0);
}

static inline double median_of(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, ascending);
    return values[count / 2];
}
