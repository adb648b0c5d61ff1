/* What the thesis computes on paper, computed: the share of the halo, the search for the best block, the memory of walls. */
#ifndef APPS_LBM_FORMULAS_H
#define APPS_LBM_FORMULAS_H

#include "walls.h"

/* Equation 5.1: the part of what is read for a block that is not the block, inside of the domain. */
static inline double halo_share(const Cut *cut)
{
    return 1 - (double)block_nodes(cut->block) / (double)block_nodes(cut->with_halo);
}

/* Bytes of a rank's own memory for a depth and a block. */
static inline size_t cut_bytes(const Cut *cut, bool in_place)
{
    return (size_t)cut->depth * slot_bytes(cut, in_place) + (in_place ? walls_of_slots(cut) * sizeof(float) : 0);
}

/* Section 5.4.3: the block of most nodes that fits with this depth, with edges that are powers of two; of those the one that needs
 * the least memory. x >= z >= y, as all orders of the edges are the same to the formula.                                  */
static inline Cut best_cut(int depth, size_t bytes, bool in_place)
{
    enum { EDGE_MOST = 128 };
    Cut best = {.depth = depth};
    for (int x = 2; x <= EDGE_MOST; x *= 2)
        for (int z = 2; z <= x; z *= 2)
            for (int y = 2; y <= z; y *= 2) {
                int edges[3] = {z, y, x};
                Cut cut = cut_of(&(Domain){.size = {z, y, x}, .cores = 1}, edges, depth);
                if (cut_bytes(&cut, in_place) > bytes) continue;
                size_t nodes = block_nodes(cut.block), most = block_nodes(best.block);
                if (nodes > most || (nodes == most && cut_bytes(&cut, in_place) < cut_bytes(&best, in_place))) best = cut;
            }
    return best;
}

static inline void print_search(int depth, bool in_place)
{
    const double bytes = 1.4 * 1024 * 1024; /* of a cluster for blocks; section 5.4.3 */
    Cut cut = best_cut(depth, (size_t)bytes, in_place);
    printf("app=lbm formula=search in_place=%d depth=%d block=%dx%dx%d halo=%.4f mib=%.3f\n", in_place, depth, cut.block[X], cut.block[Y],
           cut.block[Z], halo_share(&cut), (double)cut_bytes(&cut, in_place) / (1024 * 1024));
}

/* Equations 5.4 and 5.5: updates that a memory of so many GB/s allows, for nodes that are read and written once, less
 * the part of the halo.                                                                                                 */
static inline void print_bound(double gigabytes, int edge)
{
    Domain domain = {.size = {edge, edge, edge}, .cores = 1};
    Cut cut = cut_of(&domain, domain.size, 1);
    double million_nodes = gigabytes * 1e9 / (2 * Q * sizeof(float)) / 1e6;
    printf("app=lbm formula=bound gbps=%.1f edge=%d mlups=%.2f\n", gigabytes, edge, million_nodes * (1 - halo_share(&cut)));
}

static inline void print_formulas(void)
{
    for (int edge = 8; edge <= 128; edge *= 2) {
        Domain domain = {.size = {edge, edge, edge}, .cores = 1};
        Cut cut = cut_of(&domain, domain.size, 1);
        printf("app=lbm formula=halo edge=%d share=%.4f\n", edge, halo_share(&cut));
    }
    for (int depth = 3; depth <= 4; depth++) print_search(depth, false);
    print_search(3, true);
    print_bound(6.0, 8);
    for (int edge = 128; edge <= 256; edge *= 2) {
        Domain domain = {.size = {edge, edge, edge}, .cores = 1};
        printf("app=lbm formula=walls edge=%d share=%.4f\n", edge, (double)three_walls(&domain) / (double)lattice_values(&domain));
    }
}

#endif
