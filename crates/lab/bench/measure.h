/* What the programs share: who this rank is, how much there is to do, and how a figure is printed:   figure NAME SIZE[:OF] VALUE UNIT
 * Every program is called with one argument: 1 for a look with a tenth of the repetitions, 0 for a measurement.          */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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

/* What all ranks do together takes from the first one's begin to the last one's end. The longest of their own times would be too little where ranks share cores: one that
 * leaves the barrier late finds everything there, and takes less than anybody needs to bring it. MPI_Wtime need not be the same clock on all ranks; CLOCK_MONOTONIC is, on one
 * machine. Its seconds are counted from where rank 0 looked first, so that a double has digits for less than a nanosecond. */
static long clock_base;

static inline double shared_clock(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)(time.tv_sec - clock_base) + time.tv_nsec * 1e-9;
}

/* On all ranks, after a barrier: when this one begins. */
static inline double begin_together(void)
{
    if (clock_base == 0) {
        clock_base = (long)shared_clock();
        MPI_Bcast(&clock_base, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return shared_clock();
}

/* On all ranks: the seconds since the first of them began, when the last of them has come here; the same on all. */
static inline double end_together(double begin)
{
    /* One maximum says both: the least begin is minus the greatest of what is negated. */
    double mine[2] = {-begin, shared_clock()}, most[2];
    MPI_Allreduce(mine, most, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return most[0] + most[1];
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
