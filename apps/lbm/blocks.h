/* Blocks of a lattice in the common memory, streamed through a rank's own memory with transfers of three dimensions (thesis, chapter 5).
 *
 * Two whole lattices lie in the common memory; a step reads the one and writes the other. The domain is cut into blocks, which are
 * divided among the ranks in the order of rows, planes and so on. A rank has `depth` slots. A slot takes a block with the layer
 * around it; where the block lies at a wall there is no such layer and the copied box is smaller (table 5.1). Transfers run
 * while other slots are computed:
 *
 *     before the first block       get into every slot
 *     block m, in slot m % depth   get the next block into a slot whose block is done;
 *                                  wait for the get of block m, compute it, put it
 *
 * How a slot is computed is the variant: from one buffer into another, or in place with walls kept (walls.h), which needs little more than one.  */
#ifndef APPS_LBM_BLOCKS_H
#define APPS_LBM_BLOCKS_H

#include "../common/global.h"
#include "../common/roles.h"
#include "serial.h"

enum { DEPTH_MAX = 16 };

/* How the domain is cut: nodes of a block without and with the layer around it, and blocks. */
typedef struct {
    int block[3], with_halo[3], blocks[3];
    int depth;
} Cut;

static inline Cut cut_of(const Domain *domain, const int block[3], int depth)
{
    Cut cut = {.depth = depth};
    for (int d = 0; d < 3; d++) {
        cut.block[d] = block[d];
        cut.with_halo[d] = block[d] + 2;
        cut.blocks[d] = domain->size[d] / block[d];
    }
    return cut;
}

static inline int cut_count(const Cut *cut) { return cut->blocks[Z] * cut->blocks[Y] * cut->blocks[X]; }

static inline size_t block_nodes(const int box[3]) { return (size_t)box[Z] * (size_t)box[Y] * (size_t)box[X]; }

/* Where a block lies, and the box that is read for it: from where, to where in the slot, how large. */
typedef struct {
    int begin[3], remote[3], local[3], size[3];
} Reading;

/* Table 5.1 of the thesis: a block at a wall is read from its own edge on, and without the layer that would lie beyond. */
static inline Reading reading_of(const Cut *cut, int number)
{
    int place[3] = {number / (cut->blocks[Y] * cut->blocks[X]), number / cut->blocks[X] % cut->blocks[Y], number % cut->blocks[X]};
    Reading reading;
    for (int d = 0; d < 3; d++) {
        bool first = place[d] == 0, last = place[d] == cut->blocks[d] - 1;
        reading.begin[d] = place[d] * cut->block[d];
        reading.local[d] = first ? 1 : 0;
        reading.remote[d] = reading.begin[d] - (first ? 0 : 1);
        reading.size[d] = cut->with_halo[d] - (first ? 1 : 0) - (last ? 1 : 0);
    }
    return reading;
}

/* A block in a rank's memory. */
typedef struct {
    float *before, *after; /* `after` is NULL if blocks are computed in place */
    float *walls;          /* of the rank, if blocks are computed in place */
    Reading reading;
    MPI_Request get, put;
} Slot;

/* Computes the block of a slot. */
typedef void ComputeBlock(const Domain *domain, const Cut *cut, const Slot *slot, Counts *counts);

/* From one buffer into the other. */
static inline void compute_apart(const Domain *domain, const Cut *cut, const Slot *slot, Counts *counts)
{
    ptrdiff_t row = (ptrdiff_t)cut->with_halo[X] * Q, plane = row * cut->with_halo[Y], out_row = (ptrdiff_t)cut->block[X] * Q;
    for (int z = 0; z < cut->block[Z]; z++) {
        const float *first = slot->before + z * plane + row + Q; /* in the plane before */
        Sheet sheet = {
            .at = {slot->reading.begin[Z] + z, slot->reading.begin[Y], slot->reading.begin[X]},
            .rows = cut->block[Y],
            .width = cut->block[X],
            .planes = {first, first + plane, first + 2 * plane},
            .row = row,
            .out = slot->after + z * out_row * cut->block[Y],
            .out_row = out_row,
        };
        update_sheet(domain, &sheet, counts);
    }
    declare_nodes(domain, (int64_t)block_nodes(cut->block));
}

/* What a run over blocks works with. */
typedef struct {
    const Domain *domain;
    const Global *global;
    Cut cut;
    GlobalArray lattices[2];
    ComputeBlock *compute;
    Slot slots[DEPTH_MAX];
    Counts *counts;
} Stream;

static inline void begin_get(Stream *stream, const GlobalArray *from, int number)
{
    Slot *slot = &stream->slots[number % stream->cut.depth];
    slot->reading = reading_of(&stream->cut, number);
    LocalPart part = {.data = slot->before, .extents = stream->cut.with_halo, .starts = slot->reading.local};
    global_get(stream->global, from, slot->reading.remote, slot->reading.size, part, &slot->get);
    stream->counts->fetched += (int64_t)block_nodes(slot->reading.size);
}

static inline void begin_put(Stream *stream, const GlobalArray *to, Slot *slot)
{
    static const int corner[3] = {0, 0, 0}, beside_halo[3] = {1, 1, 1};
    LocalPart apart = {.data = slot->after, .extents = stream->cut.block, .starts = corner};
    LocalPart in_place = {.data = slot->before, .extents = stream->cut.with_halo, .starts = beside_halo};
    global_put(stream->global, to, slot->reading.begin, stream->cut.block, slot->after != NULL ? apart : in_place, &slot->put);
}

/* How many blocks behind the one to be computed is the one whose slot is refilled. A slot of two buffers can take a block as soon as its own is
 * computed. One that is updated in place must have been put: of the steps that its block has to go and the next one to come, half are for each. */
static inline int refill_lag(const Stream *stream) { return stream->slots[0].after != NULL ? 1 : 1 + (stream->cut.depth - 1) / 2; }

/* One step of this rank's blocks. */
static inline void stream_step(Stream *stream, const GlobalArray *from, const GlobalArray *to)
{
    int depth = stream->cut.depth, all = cut_count(&stream->cut);
    int first = (int)part_begin(all, stream->global->workers, stream->global->worker);
    int last = (int)part_begin(all, stream->global->workers, stream->global->worker + 1);
    for (int number = first; number < last && number < first + depth; number++) begin_get(stream, from, number);
    for (int number = first; number < last; number++) {
        int done = number - refill_lag(stream);
        if (done >= first) {
            Slot *free_again = &stream->slots[done % depth];
            if (free_again->after == NULL) MPI_Wait(&free_again->put, MPI_STATUS_IGNORE);
            if (done + depth < last) begin_get(stream, from, done + depth);
        }
        Slot *slot = &stream->slots[number % depth];
        MPI_Wait(&slot->get, MPI_STATUS_IGNORE);
        MPI_Wait(&slot->put, MPI_STATUS_IGNORE); /* of the block before in this slot */
        stream->compute(stream->domain, &stream->cut, slot, stream->counts);
        begin_put(stream, to, slot);
    }
    for (int i = 0; i < depth; i++) MPI_Wait(&stream->slots[i].put, MPI_STATUS_IGNORE);
    global_meet(stream->global);
    stream->counts->barriers++;
}

/* Bytes that a rank needs for its slots, without those of the walls. */
static inline size_t slot_bytes(const Cut *cut, bool in_place)
{
    return (block_nodes(cut->with_halo) + (in_place ? 0 : block_nodes(cut->block))) * Q * sizeof(float);
}

/* All steps, by a rank that computes; returns the seconds that they took. `wall_values` are those of the walls that `compute` needs, if any. */
static inline double stream_run(Stream *stream, int steps, size_t wall_values)
{
    const Cut *cut = &stream->cut;
    bool in_place = wall_values > 0;
    float *walls = in_place ? room(wall_values, sizeof(float)) : NULL;
    for (int i = 0; i < cut->depth; i++)
        stream->slots[i] = (Slot){
            .before = room(block_nodes(cut->with_halo) * Q, sizeof(float)),
            .after = in_place ? NULL : room(block_nodes(cut->block) * Q, sizeof(float)),
            .walls = walls,
            .get = MPI_REQUEST_NULL,
            .put = MPI_REQUEST_NULL,
        };
    global_meet(stream->global);
    double begin = MPI_Wtime();
    for (int step = 0; step < steps; step++) stream_step(stream, &stream->lattices[step % 2], &stream->lattices[(step + 1) % 2]);
    double seconds = MPI_Wtime() - begin;
    for (int i = 0; i < cut->depth; i++) {
        free(stream->slots[i].before);
        free(stream->slots[i].after);
    }
    free(walls);
    return seconds;
}

#endif
