/* The naive computation that every variant is compared with: one rank, two whole lattices, every index written out. */
#ifndef APPS_LBM_SERIAL_H
#define APPS_LBM_SERIAL_H

#include "lattice.h"

static inline float *node_of(const Domain *domain, float *lattice, int z, int y, int x)
{
    return lattice + (((size_t)z * (size_t)domain->size[Y] + (size_t)y) * (size_t)domain->size[X] + (size_t)x) * Q;
}

/* The lattice after so many steps. The caller frees it. */
static inline float *serial_run(const Domain *domain, int steps)
{
    float *now = room(domain_nodes(domain) * Q, sizeof(float)), *next = room(domain_nodes(domain) * Q, sizeof(float));
    for (int step = 0; step <= steps; step++) {
        for (int z = 0; z < domain->size[Z]; z++)
            for (int y = 0; y < domain->size[Y]; y++)
                for (int x = 0; x < domain->size[X]; x++) {
                    if (step == 0) {
                        initial_node(domain, z, y, x, node_of(domain, next, z, y, x));
                        continue;
                    }
                    float values[Q];
                    for (int i = 0; i < Q; i++) {
                        int from[3] = {z - DIRECTION[i][Z], y - DIRECTION[i][Y], x - DIRECTION[i][X]};
                        if (inside(domain, from[Z], from[Y], from[X])) values[i] = node_of(domain, now, from[Z], from[Y], from[X])[i];
                        else values[i] = node_of(domain, now, z, y, x)[opposite(i)] + lid_gain(domain, i, from[Z]);
                    }
                    collide(values, node_of(domain, next, z, y, x));
                }
        float *swapped = now;
        now = next;
        next = swapped;
    }
    free(next);
    return now;
}

/* What the fluid as a whole must obey, in double precision: mass is kept, and the lid drags the fluid along. */
static inline bool serial_is_physical(const Domain *domain, int steps, const float *lattice)
{
    double mass = 0, dragged = 0, before = 0;
    for (int z = 0; z < domain->size[Z]; z++)
        for (int y = 0; y < domain->size[Y]; y++)
            for (int x = 0; x < domain->size[X]; x++) {
                float first[Q];
                initial_node(domain, z, y, x, first);
                for (int i = 0; i < Q; i++) {
                    before += (double)first[i];
                    mass += (double)*lattice;
                    dragged += DIRECTION[i][X] * (double)*lattice++;
                }
            }
    return fabs(mass / before - 1) < 1e-5 && (steps == 0 || dragged > 0);
}

/* A number that depends on every bit of the field (FNV-1a over its words). */
static inline uint64_t field_hash(const float *lattice, size_t values)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < values; i++) {
        uint32_t word;
        memcpy(&word, &lattice[i], sizeof word);
        hash = (hash ^ word) * 0x100000001b3u;
    }
    return hash;
}

#endif
