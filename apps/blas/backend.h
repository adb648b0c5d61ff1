/* What the matrix routines need of a machine: six functions that move rectangles between its large memory and a rank's own (Ho's
 * thesis, section 9.3.3). A port to another machine is another implementation of this file; backend_mpi.h is the one for MPI.
 *
 * Gets and puts return at once and have an event. After the wait for a put, the data is where it was put, for a later get of this rank; a
 * second wait for the same event does nothing.                                                                          */
#ifndef APPS_BLAS_BACKEND_H
#define APPS_BLAS_BACKEND_H

#include "../common/global.h"

/* A rectangular array, and where in it the rectangle lies: x along rows. */
typedef struct {
    int x, y, width, height;
} Point2d;

typedef struct Dma Dma;
typedef struct DmaEvent DmaEvent;

/* By every rank, with the bytes of the large memory. */
static inline void dma_init(Dma *dma, Global *global, size_t bytes);
static inline void dma_finalize(Dma *dma);

/* Of `width` x `height` elements. */
static inline void dma_get2d(Dma *dma, const void *there, void *here, Point2d there_point, Point2d here_point, size_t element, int width, int height,
                             DmaEvent *event);
static inline void dma_put2d(Dma *dma, const void *here, void *there, Point2d there_point, Point2d here_point, size_t element, int width, int height,
                             DmaEvent *event);
static inline void dma_wait(Dma *dma, DmaEvent *event);

/* Whether an address is one of the large memory, so that what lies there must be moved before it is used. */
static inline bool dma_in_global_memory(const Dma *dma, const void *address);

#endif
