/* The back end over MPI: the large memory is a window, transfers are MPIX_Get_block and MPIX_Put_block.
 *
 * Its addresses are numbers from half of the address space on, which no program has memory at: ranks as processes have it at
 * different places, or not at all.                                                                                       */
#ifndef APPS_BLAS_BACKEND_MPI_H
#define APPS_BLAS_BACKEND_MPI_H

#include "backend.h"

struct Dma {
    Global *global;
    size_t bytes;
};

struct DmaEvent {
    MPI_Request request;
    bool puts;
};

static const uintptr_t FIRST_ADDRESS = UINTPTR_MAX / 2 + 1;

static inline void dma_init(Dma *dma, Global *global, size_t bytes)
{
    *dma = (Dma){.global = global, .bytes = bytes};
    global_open(global, (MPI_Aint)bytes);
}

static inline void dma_finalize(Dma *dma) { global_close(dma->global); }

static inline bool dma_in_global_memory(const Dma *dma, const void *address)
{
    return (uintptr_t)address >= FIRST_ADDRESS && (uintptr_t)address - FIRST_ADDRESS < dma->bytes;
}

/* A rectangle as bytes: the extents of both arrays, and where it begins. */
typedef struct {
    GlobalArray there;
    int starts[2], block[2], here_extents[2], here_starts[2];
} Rectangle;

static inline Rectangle rectangle_of(const void *there, Point2d at, Point2d here, size_t element, int width, int height)
{
    int bytes = (int)element;
    return (Rectangle){
        .there = {.at = (MPI_Aint)((uintptr_t)there - FIRST_ADDRESS), .ndims = 2, .extents = {at.height, at.width * bytes}, .element = MPI_BYTE},
        .starts = {at.y, at.x * bytes},
        .block = {height, width * bytes},
        .here_extents = {here.height, here.width * bytes},
        .here_starts = {here.y, here.x * bytes},
    };
}

static inline void dma_get2d(Dma *dma, const void *there, void *here, Point2d there_point, Point2d here_point, size_t element, int width, int height,
                             DmaEvent *event)
{
    Rectangle r = rectangle_of(there, there_point, here_point, element, width, height);
    LocalPart part = {.data = here, .extents = r.here_extents, .starts = r.here_starts};
    event->puts = false;
    global_get(dma->global, &r.there, r.starts, r.block, part, &event->request);
}

static inline void dma_put2d(Dma *dma, const void *here, void *there, Point2d there_point, Point2d here_point, size_t element, int width, int height,
                             DmaEvent *event)
{
    Rectangle r = rectangle_of(there, there_point, here_point, element, width, height);
    LocalPart part = {.data = (void *)here, .extents = r.here_extents, .starts = r.here_starts};
    event->puts = true;
    global_put(dma->global, &r.there, r.starts, r.block, part, &event->request);
}

/* A put that MPI has completed here need not have arrived. */
static inline void dma_wait(Dma *dma, DmaEvent *event)
{
    MPI_Wait(&event->request, MPI_STATUS_IGNORE);
    if (event->puts) MPI_Win_flush(dma->global->owner, dma->global->win);
    event->puts = false;
}

#endif
