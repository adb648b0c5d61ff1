/* Work declared in cycles of the core that runs the rank.
 *
 * On a simulated chip the rank's core is busy for that long; on the host nothing happens, because there the computation itself
 * takes its time. Each program states its law, cycles for each operation of its kernel, beside the kernel.        */
#ifndef APPS_COMPUTE_H
#define APPS_COMPUTE_H

#include <corelace.h>
#include <stdint.h>

static inline void declare_cycles(int64_t cycles) { MPIX_Compute(cycles); }

/* Communication alone is measured: what this program does besides takes no time. */
static inline void declare_nothing(void) { declare_cycles(0); }

/* Work that the cores of a rank share: so many cycles of one core, if it did everything alone. */
static inline void declare_shared(int64_t cycles, int cores) { MPIX_Compute_cores((cycles + cores - 1) / cores, cores); }

/* A copy in a cluster's memory: the slope that MPPA-MPI's authors measured for memcpy on the MPPA-256, 1.28 cycles a byte. */
enum { COPY_CYCLES_PER_100_BYTES = 128 };
static inline void declare_copy(int64_t bytes) { declare_cycles(bytes * COPY_CYCLES_PER_100_BYTES / 100); }

#endif
