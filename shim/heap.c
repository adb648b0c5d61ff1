/*
 * The heap of a rank on a chip with small memories: what malloc and its relatives hand out counts against the memory of the
 * rank's cluster, and what does not fit is refused as it would be there.
 *
 * Only where the host asks for it (`heap` in corelace_start), and only on the rank's own thread. Everywhere else a call must cost what it does in a
 * program of the plain compiler: one jump through a word, as the linker's own way into a library is. So each function has such a word here: at first
 * it leads to what looks up libc's function, then to that, or in a rank whose heap is counted to what counts.
 *
 * Blocks that libc allocates for itself or for the program (stdio, strdup) are not counted: the host knows which blocks are, so they may be freed and
 * resized like any other.
 */
#define _GNU_SOURCE
#include "corelace_program.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

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

static void *counted_malloc(size_t bytes) { return booked(LIBC(malloc)(bytes), bytes); }

static void *counted_calloc(size_t count, size_t bytes) {
    /* libc refuses a product that overflows, and then there is nothing to book. */
    return booked(LIBC(calloc)(count, bytes), count * bytes);
}

static void counted_free(void *block) {
    const struct corelace_heap *heap = counted();
    if (heap && block) {
        heap->unbook(heap->account, block);
    }
    LIBC(free)(block);
}

static void *counted_realloc(void *block, size_t bytes) {
    const struct corelace_heap *heap = counted();
    if (!heap) {
        return LIBC(realloc)(block, bytes);
    }
    if (!block) {
        return counted_malloc(bytes);
    }
    if (!bytes) {
        counted_free(block);
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

static void *counted_reallocarray(void *block, size_t count, size_t bytes) {
    size_t product;
    if (__builtin_mul_overflow(count, bytes, &product)) {
        errno = ENOMEM;
        return NULL;
    }
    return counted_realloc(block, product);
}

static int counted_posix_memalign(void **place, size_t alignment, size_t bytes) {
    int failed = LIBC(posix_memalign)(place, alignment, bytes);
    if (!failed && *place && !booked(*place, bytes)) {
        return ENOMEM;
    }
    return failed;
}

static void *counted_aligned_alloc(size_t alignment, size_t bytes) {
    return booked(LIBC(aligned_alloc)(alignment, bytes), bytes);
}

static void *counted_memalign(size_t alignment, size_t bytes) {
    return booked(LIBC(memalign)(alignment, bytes), bytes);
}

static void *counted_valloc(size_t bytes) { return booked(LIBC(valloc)(bytes), bytes); }

#define WAY(result, name, parameters, arguments)                                                  \
    static result first_##name parameters;                                                        \
    static __typeof__(&first_##name) way_##name = first_##name;                                   \
    static result first_##name parameters {                                                       \
        way_##name = LIBC(name);                                                                  \
        return way_##name arguments;                                                              \
    }                                                                                             \
    /* Aligned as the linker's: jumps that lie close together are predicted worse. */              \
    CORELACE_REPLACES_LIBC __attribute__((aligned(16))) result name parameters { return way_##name arguments; }

WAY(void *, malloc, (size_t bytes), (bytes))
WAY(void *, calloc, (size_t count, size_t bytes), (count, bytes))
WAY(void, free, (void *block), (block))
WAY(void *, realloc, (void *block, size_t bytes), (block, bytes))
WAY(void *, reallocarray, (void *block, size_t count, size_t bytes), (block, count, bytes))
WAY(int, posix_memalign, (void **place, size_t alignment, size_t bytes), (place, alignment, bytes))
WAY(void *, aligned_alloc, (size_t alignment, size_t bytes), (alignment, bytes))
WAY(void *, memalign, (size_t alignment, size_t bytes), (alignment, bytes))
WAY(void *, valloc, (size_t bytes), (bytes))

void corelace_count_heap(void) {
    way_malloc = counted_malloc;
    way_calloc = counted_calloc;
    way_free = counted_free;
    way_realloc = counted_realloc;
    way_reallocarray = counted_reallocarray;
    way_posix_memalign = counted_posix_memalign;
    way_aligned_alloc = counted_aligned_alloc;
    way_memalign = counted_memalign;
    way_valloc = counted_valloc;
}
