/* Numbers that look random and can be asked for in any order: the value number `index` of a seed.
 *
 * Data made this way need not be kept or sent to be checked: whoever wants an element computes it again.
 * The mixing function is the finaliser of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators). */
#ifndef APPS_RANDOM_H
#define APPS_RANDOM_H

#include <stdint.h>

static inline uint64_t random_mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline uint64_t random_at(uint64_t seed, uint64_t index)
{
    return random_mix(random_mix(seed + 0x9e3779b97f4a7c15u) + index * 0x9e3779b97f4a7c15u);
}

#endif
