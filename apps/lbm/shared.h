/* Ranks that share one memory, as threads do: a lattice or two of which every rank updates its rows, and barriers.
 *
 * two-lattice: from one lattice into the other; a barrier a step.
 * AA (Bailey et al., 2009): one lattice. A node takes its 19 values and puts as many into the very same places, so no two nodes meet and a
 * barrier a step is enough. Every other step looks at neighbours, and leaves a value where the next step, which looks at its own
 * node alone, finds it: at the neighbour that it goes to, in the place of the opposite direction.
 *
 * On a chip the ranks must be of one cluster, whose memory holds everything.                                             */
#ifndef APPS_LBM_SHARED_H
#define APPS_LBM_SHARED_H

#include "../common/roles.h"
#include "serial.h"

/* Memory of all ranks, and the rows of each plane that are this rank's. */
typedef struct {
    const Domain *domain;
    MPI_Win win;
    float *memory;
    int rank, first_row, last_row;
    Counts *counts;
} Shared;

/* Whether every rank of MPI_COMM_WORLD reaches the same memory. */
static inline bool all_ranks_share(void)
{
    MPI_Comm together;
    int ranks, all;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &together);
    MPI_Comm_size(together, &ranks);
    MPI_Comm_size(MPI_COMM_WORLD, &all);
    MPI_Comm_free(&together);
    return ranks == all;
}

/* Room for so many values, of which rank 0 is the owner. */
static inline Shared shared_open(const Domain *domain, size_t values, Counts *counts)
{
    Shared shared = {.domain = domain, .counts = counts};
    int ranks, unit;
    MPI_Aint bytes;
    MPI_Comm_rank(MPI_COMM_WORLD, &shared.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Win_allocate_shared(shared.rank == 0 ? (MPI_Aint)(values * sizeof(float)) : 0, sizeof(float), MPI_INFO_NULL, MPI_COMM_WORLD,
                            &shared.memory, &shared.win);
    MPI_Win_shared_query(shared.win, 0, &bytes, &unit, &shared.memory);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, shared.win);
    shared.first_row = (int)part_begin(domain->size[Y], ranks, shared.rank);
    shared.last_row = (int)part_begin(domain->size[Y], ranks, shared.rank + 1);
    return shared;
}

static inline void shared_close(Shared *shared)
{
    MPI_Win_unlock_all(shared->win);
    MPI_Win_free(&shared->win);
}

/* Everything that any rank has stored is seen by all. */
static inline void shared_meet(Shared *shared)
{
    MPI_Win_sync(shared->win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(shared->win);
    shared->counts->barriers++;
}

/* Values of a plane of the domain, and of this rank's part of it. */
static inline size_t plane_values(const Domain *domain) { return (size_t)domain->size[Y] * (size_t)domain->size[X] * Q; }

static inline void shared_begin(Shared *shared)
{
    for (int z = 0; z < shared->domain->size[Z]; z++)
        for (int y = shared->first_row; y < shared->last_row; y++)
            for (int x = 0; x < shared->domain->size[X]; x++)
                initial_node(shared->domain, z, y, x, node_of(shared->domain, shared->memory, z, y, x));
}

/* This rank's rows of a plane. The three planes are given by their first values. */
static inline void update_rows(Shared *shared, int z, const float *const planes[3], float *out)
{
    ptrdiff_t row = (ptrdiff_t)shared->domain->size[X] * Q, first = shared->first_row * row;
    Sheet sheet = {
        .at = {z, shared->first_row, 0},
        .rows = shared->last_row - shared->first_row,
        .width = shared->domain->size[X],
        .planes = {planes[0] + first, planes[1] + first, planes[2] + first},
        .row = row,
        .out = out + first,
        .out_row = row,
    };
    update_sheet(shared->domain, &sheet, shared->counts);
    declare_nodes(shared->domain, (int64_t)sheet.rows * sheet.width);
}

/* A variant: how many lattices and walls it needs besides the lattice, a step, and where the field lies after so many steps. */
typedef struct {
    size_t (*more_values)(const Domain *domain);
    void (*prologue)(Shared *shared); /* or NULL */
    void (*step)(Shared *shared, int step);
    float (*value)(const Shared *shared, int steps, int z, int y, int x, int i);
} SharedVariant;

static inline size_t lattice_values(const Domain *domain) { return domain_nodes(domain) * Q; }

static inline size_t no_values(const Domain *domain) { return (void)domain, 0; }

static inline void two_lattice_step(Shared *shared, int step)
{
    const Domain *domain = shared->domain;
    float *from = shared->memory + (step % 2) * (ptrdiff_t)lattice_values(domain);
    float *to = shared->memory + ((step + 1) % 2) * (ptrdiff_t)lattice_values(domain);
    for (int z = 0; z < domain->size[Z]; z++) {
        float *here = node_of(domain, from, z, 0, 0);
        const float *planes[3] = {z > 0 ? node_of(domain, from, z - 1, 0, 0) : here, here,
                                  z + 1 < domain->size[Z] ? node_of(domain, from, z + 1, 0, 0) : here};
        update_rows(shared, z, planes, node_of(domain, to, z, 0, 0));
    }
    shared_meet(shared);
}

static inline float two_lattice_value(const Shared *shared, int steps, int z, int y, int x, int i)
{
    return node_of(shared->domain, shared->memory + (steps % 2) * (ptrdiff_t)lattice_values(shared->domain), z, y, x)[i];
}

/* Where the value that leaves a node in direction i lies between a step that looks at neighbours and one that does not. */
static inline float *aa_place(const Domain *domain, float *lattice, int z, int y, int x, int i)
{
    int to[3] = {z + DIRECTION[i][Z], y + DIRECTION[i][Y], x + DIRECTION[i][X]};
    if (inside(domain, to[Z], to[Y], to[X])) return node_of(domain, lattice, to[Z], to[Y], to[X]) + opposite(i);
    return node_of(domain, lattice, z, y, x) + i;
}

static inline void aa_step(Shared *shared, int step)
{
    const Domain *domain = shared->domain;
    bool looks_around = step % 2 == 0;
    for (int z = 0; z < domain->size[Z]; z++)
        for (int y = shared->first_row; y < shared->last_row; y++)
            for (int x = 0; x < domain->size[X]; x++) {
                float before[Q], after[Q], *node = node_of(domain, shared->memory, z, y, x);
                for (int i = 0; i < Q; i++) {
                    /* The place that the opposite value is put into after this is the one that this value comes from. */
                    int from_z = z - DIRECTION[i][Z];
                    before[i] = looks_around ? *aa_place(domain, shared->memory, z, y, x, opposite(i)) : node[opposite(i)];
                    if (!inside(domain, from_z, y - DIRECTION[i][Y], x - DIRECTION[i][X])) before[i] += lid_gain(domain, i, from_z);
                }
                collide(before, after);
                for (int i = 0; i < Q; i++) *(looks_around ? aa_place(domain, shared->memory, z, y, x, i) : &node[i]) = after[i];
            }
    int64_t nodes = (int64_t)domain->size[Z] * (shared->last_row - shared->first_row) * domain->size[X];
    count_updates(nodes, shared->counts);
    declare_nodes(domain, nodes);
    shared_meet(shared);
}

static inline float aa_value(const Shared *shared, int steps, int z, int y, int x, int i)
{
    if (steps % 2 == 1) return *aa_place(shared->domain, shared->memory, z, y, x, i);
    return node_of(shared->domain, shared->memory, z, y, x)[i];
}

static const SharedVariant TWO_LATTICE = {.more_values = lattice_values, .step = two_lattice_step, .value = two_lattice_value};
static const SharedVariant AA = {.more_values = no_values, .step = aa_step, .value = aa_value};

/* All steps; returns the seconds that they took, and puts the field into `field` at rank 0, whose room that is. */
static inline double shared_run(const Domain *domain, const SharedVariant *variant, int steps, Counts *counts, float *field)
{
    Shared shared = shared_open(domain, lattice_values(domain) + variant->more_values(domain), counts);
    shared_begin(&shared);
    if (variant->prologue != NULL) variant->prologue(&shared);
    shared_meet(&shared);
    *counts = (Counts){0};
    double begin = MPI_Wtime();
    for (int step = 0; step < steps; step++) variant->step(&shared, step);
    double seconds = MPI_Wtime() - begin;
    for (int z = 0; shared.rank == 0 && z < domain->size[Z]; z++)
        for (int y = 0; y < domain->size[Y]; y++)
            for (int x = 0; x < domain->size[X]; x++)
                for (int i = 0; i < Q; i++) *field++ = variant->value(&shared, steps, z, y, x, i);
    shared_close(&shared);
    return seconds;
}

#endif
