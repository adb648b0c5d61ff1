/* Work declared in cycles of the core that runs the rank.
 *
 * On a simulated chip the rank's core is busy for that long; on the host nothing happens, because there the computation itself
 * takes its time. Each program states its law, cycles for each operation of its kernel, beside the kernel.        */
#ifndef APPS_COMPUTE_H
#define APPS_COMPUTE_H

#include <mpi.h>
#include <stdint.h>

#if __has_include(<corelace.h>)
#include <corelace.h>
#else
static inline int MPIX_Compute(MPI_Count cycles)
{
    (void)cycles;
    return MPI_SUCCESS;
}
#endif

static inline void declare_cycles(int64_t cycles) { MPIX_Compute(cycles); }

/* A copy in a cluster's memory: the slope that MPPA-MPI's authors measured for memcpy on the MPPA-256, 1.28 cycles a byte. */
static inline void declare_copy(int64_t bytes) { declare_cycles(bytes * 128 / 100); }

#endif
