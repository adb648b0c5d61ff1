/*
 * The heap of a rank on a chip with small memories: what malloc and its relatives hand out counts against the memory of the
 * rank's cluster, and what does not fit is refused as it would be there.
 *
 * Only where the host asks for it (`heap` in corelace_start), and only on the rank's own thread; elsewhere each call goes
 * straight to libc. Blocks that libc allocates for itself or for the program (stdio, strdup) are not counted: the host knows
 * which blocks are, so they may be freed and resized like any other.
 */
#define _GNU_SOURCE
#include "corelace_program.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>

static const struct corelace_heap *counted(void) {
    const struct corelace_start *start = corelace_rank_start;
    return start && start->heap && corelace_on_rank_thread() ? start->heap : NULL;
}

/* The block, if there is room for it on the chip; otherwise it goes back. */
static void *booked(void *block, size_t bytes) {
    const struct corelace_heap *heap = counted();
    if (heap && block && !heap->book(heap->account, block, bytes)) {
        LIBC(free)(block);
        errno = ENOMEM;
        return NULL;
    }
    return block;
}

CORELACE_REPLACES_LIBC void *malloc(size_t bytes) { return booked(LIBC(malloc)(bytes), bytes); }

CORELACE_REPLACES_LIBC void *calloc(size_t count, size_t bytes) {
    /* libc refuses a product that overflows, and then there is nothing to book. */
    return booked(LIBC(calloc)(count, bytes), count * bytes);
}

CORELACE_REPLACES_LIBC void free(void *block) {
    const struct corelace_heap *heap = counted();
    if (heap && block) {
        heap->unbook(heap->account, block);
    }
    LIBC(free)(block);
}

CORELACE_REPLACES_LIBC void *realloc(void *block, size_t bytes) {
    const struct corelace_heap *heap = counted();
    if (!heap) {
        return LIBC(realloc)(block, bytes);
    }
    if (!block) {
        return malloc(bytes);
    }
    if (!bytes) {
        free(block);
        return NULL;
    }
    size_t before = heap->resize(heap->account, block, bytes);
    if (!before) {
        errno = ENOMEM;
        return NULL;
    }
    void *moved = LIBC(realloc)(block, bytes);
    if (!moved) {
        /* libc has no memory after all: the block is what it was, and so is its account. */
        heap->resize(heap->account, block, before);
        errno = ENOMEM;
    } else if (moved != block) {
        heap->move(heap->account, block, moved);
    }
    return moved;
}

CORELACE_REPLACES_LIBC void *reallocarray(void *block, size_t count, size_t bytes) {
    size_t product;
    if (__builtin_mul_overflow(count, bytes, &product)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(block, product);
}

CORELACE_REPLACES_LIBC int posix_memalign(void **place, size_t alignment, size_t bytes) {
    int failed = LIBC(posix_memalign)(place, alignment, bytes);
    if (!failed && *place && !booked(*place, bytes)) {
        return ENOMEM;
    }
    return failed;
}

CORELACE_REPLACES_LIBC void *aligned_alloc(size_t alignment, size_t bytes) {
    return booked(LIBC(aligned_alloc)(alignment, bytes), bytes);
}

CORELACE_REPLACES_LIBC void *memalign(size_t alignment, size_t bytes) {
    return booked(LIBC(memalign)(alignment, bytes), bytes);
}

CORELACE_REPLACES_LIBC void *valloc(size_t bytes) { return booked(LIBC(valloc)(bytes), bytes); }
