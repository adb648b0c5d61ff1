/* The lattice: D3Q19 with the collision of Bhatnagar, Gross and Krook, in a closed box whose lid moves.
 *
 * A node holds 19 values side by side, as they are after a collision; nodes lie [z][y][x], and so are all triples in these files. A step
 * pulls each value from the neighbour that it comes from and collides. Walls are half-way bounce-back: what would come from
 * beyond a wall is the node's own opposite value, and gains momentum at the lid, beyond the last z, which moves along x. So no ghost
 * nodes are needed, and none are stored.
 *
 * Invariant: every variant updates a node by update_sheet, which gathers 19 values and collides them in one compiled function. Variants
 * differ in where the values lie, never in arithmetic, so all of them give the same bits.                                  */
#ifndef APPS_LBM_LATTICE_H
#define APPS_LBM_LATTICE_H

#include <math.h>
#include <stddef.h>

#include "../common/compute.h"
#include "../common/random.h"
#include "../common/report.h"

enum { Q = 19, Z = 0, Y = 1, X = 2 };

/* The law of the declared work: what a core of the MPPA-256 takes for a node. The thesis' runs scale to 8 clusters, where memory begins to limit
 * them at 20 to 22 million updates a second (section 5.5.2): 2.6 a cluster of 16 cores at 400 MHz, or 16 x 400 / 2.6 cycles of a core.
 * So the updates of few clusters are a fit.                                                                                */
enum { CYCLES_PER_NODE = 2350 };

static const int DIRECTION[Q][3] = {
    {0, 0, 0},  {0, 0, 1},   {0, 0, -1}, {0, 1, 0},  {0, -1, 0}, {1, 0, 0},   {-1, 0, 0}, {0, 1, 1},  {0, -1, -1}, {0, 1, -1},
    {0, -1, 1}, {1, 0, 1},   {-1, 0, -1}, {1, 0, -1}, {-1, 0, 1}, {1, 1, 0},   {-1, -1, 0}, {1, -1, 0}, {-1, 1, 0},
};

/* Directions come in pairs of opposites after the first. */
static inline int opposite(int i) { return i == 0 ? 0 : (i % 2 == 1 ? i + 1 : i - 1); }

static inline float weight(int i) { return i == 0 ? 1.0f / 3 : (i < 7 ? 1.0f / 18 : 1.0f / 36); }

static const float RELAXATION = 1.0f / 0.6f, LID_SPEED = 0.05f;

typedef struct {
    int size[3];
    int cores; /* of a rank, among which its nodes are shared: for the law */
} Domain;

/* What a rank has done. */
typedef struct {
    int64_t loads, stores; /* of values, by its cores */
    int64_t barriers;
    int64_t fetched, updated; /* nodes */
} Counts;

static inline size_t domain_nodes(const Domain *domain)
{
    return (size_t)domain->size[Z] * (size_t)domain->size[Y] * (size_t)domain->size[X];
}

static inline bool inside(const Domain *domain, int z, int y, int x)
{
    return z >= 0 && y >= 0 && x >= 0 && z < domain->size[Z] && y < domain->size[Y] && x < domain->size[X];
}

/* What a value gains on its way back from beyond the wall at z. */
static inline float lid_gain(const Domain *domain, int i, int z)
{
    return z >= domain->size[Z] ? 6 * weight(i) * LID_SPEED * (float)DIRECTION[i][X] : 0;
}

/* The fluid at rest, with a little noise of its own in the density of each node: a value from a wrong node shows at once. */
static inline void initial_node(const Domain *domain, int z, int y, int x, float values[Q])
{
    uint64_t index = ((uint64_t)z * (uint64_t)domain->size[Y] + (uint64_t)y) * (uint64_t)domain->size[X] + (uint64_t)x;
    float density = 1 + 0.01f * (float)(random_at(19, index) >> 44) / (1 << 20);
    for (int i = 0; i < Q; i++) values[i] = weight(i) * density;
}

/* A compiler may contract multiplications and additions differently wherever it inlines a function; here it must not. */
#if defined(__GNUC__)
__attribute__((noinline))
#endif
static void collide(const float before[Q], float after[Q])
{
    float density = 0, momentum[3] = {0, 0, 0};
    for (int i = 0; i < Q; i++) {
        density += before[i];
        for (int d = 0; d < 3; d++) momentum[d] += (float)DIRECTION[i][d] * before[i];
    }
    float velocity[3], square = 0;
    for (int d = 0; d < 3; d++) {
        velocity[d] = momentum[d] / density;
        square += velocity[d] * velocity[d];
    }
    for (int i = 0; i < Q; i++) {
        float along = 0;
        for (int d = 0; d < 3; d++) along += (float)DIRECTION[i][d] * velocity[d];
        float equilibrium = weight(i) * density * (1 + 3 * along + 4.5f * along * along - 1.5f * square);
        after[i] = before[i] - RELAXATION * (before[i] - equilibrium);
    }
}

/* Rows of a plane that are updated, and where the three planes that they need lie. Pointers are to the first node of the sheet, in the
 * plane before it, its own and the one behind it; one that lies beyond a wall is never followed.                            */
typedef struct {
    int at[3]; /* of the first node, in the domain */
    int rows, width;
    const float *planes[3];
    ptrdiff_t row; /* values from a row to the next, in the three planes */
    float *out;    /* the first node after the step */
    ptrdiff_t out_row;
} Sheet;

static inline void gather(const Domain *domain, const Sheet *sheet, int y, int x, float values[Q])
{
    ptrdiff_t node = y * sheet->row + (ptrdiff_t)x * Q;
    for (int i = 0; i < Q; i++) {
        const int *to = DIRECTION[i];
        int from_z = sheet->at[Z] - to[Z];
        if (inside(domain, from_z, sheet->at[Y] + y - to[Y], sheet->at[X] + x - to[X]))
            values[i] = sheet->planes[1 - to[Z]][node - to[Y] * sheet->row - (ptrdiff_t)to[X] * Q + i];
        else values[i] = sheet->planes[1][node + opposite(i)] + lid_gain(domain, i, from_z);
    }
}

static inline void count_updates(int64_t nodes, Counts *counts)
{
    counts->loads += nodes * Q;
    counts->stores += nodes * Q;
    counts->updated += nodes;
}

/* The work of nodes that no core has to wait for another with. */
static inline void declare_nodes(const Domain *domain, int64_t nodes) { declare_shared(nodes * CYCLES_PER_NODE, domain->cores); }

static inline void update_sheet(const Domain *domain, const Sheet *sheet, Counts *counts)
{
    for (int y = 0; y < sheet->rows; y++)
        for (int x = 0; x < sheet->width; x++) {
            float values[Q];
            gather(domain, sheet, y, x, values);
            collide(values, sheet->out + y * sheet->out_row + (ptrdiff_t)x * Q);
        }
    count_updates((int64_t)sheet->rows * sheet->width, counts);
}

#endif
