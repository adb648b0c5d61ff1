/* In-place propagation with walls (thesis, chapter 6): one lattice, updated plane after plane along z, and copies of planes as they were.
 *
 * A plane needs those before, at and behind it as they were before the step. The one behind has not been touched; the other two
 * are kept in walls. Walls are used in turn, one forward for each plane, also from one step to the next.
 *
 * two-wall: copy the plane into a wall; barrier; update it; barrier. 2 Lz barriers a step.
 * three-wall: update the plane and, at the same time, copy the next one into the third wall; barrier. Lz barriers a step. Behind the last
 * plane of a step comes the first of the next, which has long been updated; only the first of all is copied before.
 *
 * Both load and store 2 q values for each copied node and 2 q for each updated one: 4 q (table 6.1).                           */
#ifndef APPS_LBM_WALLS_H
#define APPS_LBM_WALLS_H

#include "blocks.h"
#include "shared.h"

/* Copies values that lie side by side. The core does it, at the cost of a copy. */
static inline void copy_to_wall(const Domain *domain, const float *plane, float *wall, size_t values, Counts *counts)
{
    memcpy(wall, plane, values * sizeof(float));
    counts->loads += (int64_t)values;
    counts->stores += (int64_t)values;
    declare_copy((int64_t)(values * sizeof(float)) / domain->cores);
}

/* The wall for plane `turn`, counted over all steps; walls lie behind the lattice. */
static inline float *wall_of(const Shared *shared, int64_t turn, int walls)
{
    return shared->memory + lattice_values(shared->domain) + (size_t)((turn + walls) % walls) * plane_values(shared->domain);
}

static inline void copy_rows(Shared *shared, int z, float *wall)
{
    size_t row = (size_t)shared->domain->size[X] * Q, first = (size_t)shared->first_row * row;
    size_t values = (size_t)(shared->last_row - shared->first_row) * row;
    copy_to_wall(shared->domain, node_of(shared->domain, shared->memory, z, 0, 0) + first, wall + first, values, shared->counts);
}

static inline void update_behind_walls(Shared *shared, int z, int64_t turn, int walls)
{
    const Domain *domain = shared->domain;
    float *here = node_of(domain, shared->memory, z, 0, 0);
    const float *current = wall_of(shared, turn, walls);
    const float *planes[3] = {wall_of(shared, turn - 1, walls), current,
                              z + 1 < domain->size[Z] ? node_of(domain, shared->memory, z + 1, 0, 0) : current};
    update_rows(shared, z, planes, here);
}

static inline void two_wall_step(Shared *shared, int step)
{
    for (int z = 0; z < shared->domain->size[Z]; z++) {
        int64_t turn = (int64_t)step * shared->domain->size[Z] + z;
        copy_rows(shared, z, wall_of(shared, turn, 2));
        shared_meet(shared);
        update_behind_walls(shared, z, turn, 2);
        shared_meet(shared);
    }
}

static inline void three_wall_prologue(Shared *shared) { copy_rows(shared, 0, wall_of(shared, 0, 3)); }

static inline void three_wall_step(Shared *shared, int step)
{
    for (int z = 0; z < shared->domain->size[Z]; z++) {
        int64_t turn = (int64_t)step * shared->domain->size[Z] + z;
        copy_rows(shared, (z + 1) % shared->domain->size[Z], wall_of(shared, turn + 1, 3));
        update_behind_walls(shared, z, turn, 3);
        shared_meet(shared);
    }
}

static inline size_t two_walls(const Domain *domain) { return 2 * plane_values(domain); }

static inline size_t three_walls(const Domain *domain) { return 3 * plane_values(domain); }

static inline float in_place_value(const Shared *shared, int steps, int z, int y, int x, int i)
{
    return (void)steps, node_of(shared->domain, shared->memory, z, y, x)[i];
}

static const SharedVariant TWO_WALL = {.more_values = two_walls, .step = two_wall_step, .value = in_place_value};
static const SharedVariant THREE_WALL = {
    .more_values = three_walls, .prologue = three_wall_prologue, .step = three_wall_step, .value = in_place_value};

/* Walls with block transfers, the next step that the thesis names (chapter 10): a block is updated in the slot that it was read into, with
 * three walls for all slots of the rank, so that the same memory holds larger blocks with a smaller share of halo.            */
static inline size_t walls_of_slots(const Cut *cut) { return 3 * (size_t)cut->with_halo[Y] * (size_t)cut->with_halo[X] * Q; }

static inline void compute_in_place(const Domain *domain, const Cut *cut, const Slot *slot, Counts *counts)
{
    ptrdiff_t row = (ptrdiff_t)cut->with_halo[X] * Q, plane = row * cut->with_halo[Y], first = row + Q;
    copy_to_wall(domain, slot->before + plane, slot->walls + plane, (size_t)plane, counts);
    for (int z = 1; z <= cut->block[Z]; z++) {
        float *here = slot->before + z * plane, *past = z == 1 ? slot->before : slot->walls + (z - 1) % 3 * plane;
        if (z < cut->block[Z]) copy_to_wall(domain, here + plane, slot->walls + (z + 1) % 3 * plane, (size_t)plane, counts);
        Sheet sheet = {
            .at = {slot->reading.begin[Z] + z - 1, slot->reading.begin[Y], slot->reading.begin[X]},
            .rows = cut->block[Y],
            .width = cut->block[X],
            .planes = {past + first, slot->walls + z % 3 * plane + first, here + plane + first},
            .row = row,
            .out = here + first,
            .out_row = row,
        };
        update_sheet(domain, &sheet, counts);
        declare_nodes(domain, (int64_t)sheet.rows * sheet.width);
    }
}

#endif
