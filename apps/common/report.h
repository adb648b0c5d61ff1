/* Time and the line of results.
 *
 * A line is made of words key=value. The first is app=NAME; time= is in seconds and ends in s; cycles= is the same time in
 * cycles of a clock of --mhz, which on a simulated chip should be the chip's. What a program adds is in its own header. */
#ifndef APPS_REPORT_H
#define APPS_REPORT_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

/* Clock of the first MPPA-256 ("Andey"), in MHz: the default of every --mhz. */
static const double ANDEY_MHZ = 400;

static inline void report_time(double seconds, double mhz) { printf(" time=%.9fs cycles=%.0f\n", seconds, seconds * mhz * 1e6); }

/* Memory for an application's data, or the end of the job: a program that goes on without its data proves nothing. */
static inline void *room(size_t count, size_t size)
{
    void *memory = calloc(count > 0 ? count : 1, size);
    if (memory == NULL) {
        fprintf(stderr, "no room for %zu x %zu bytes\n", count, size);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return memory;
}

#endif
