/* Who does what: rank 0 leads all (global master), one rank a cluster leads its cluster (local master), the others work (slaves).
 *
 * Ranks are laid out compactly, 12 a cluster. Rank 0 lies in the first cluster beside that cluster's local master, rank 1; of
 * every other cluster the first rank is the local master.                                                         */
#ifndef APPS_ROLES_H
#define APPS_ROLES_H

#include <mpi.h>
#include <stdint.h>

enum { RANKS_PER_CLUSTER = 12, GLOBAL_MASTER = 0 };

typedef enum { ROLE_GLOBAL_MASTER, ROLE_LOCAL_MASTER, ROLE_SLAVE } Role;

typedef struct {
    int rank, ranks;
    int cluster, clusters;
    Role role;
} Place;

static inline int local_master_of(int cluster) { return cluster == 0 ? 1 : cluster * RANKS_PER_CLUSTER; }

/* Slaves of a cluster follow its local master. */
static inline int slaves_of(const Place *place, int cluster)
{
    int end = (cluster + 1) * RANKS_PER_CLUSTER;
    if (end > place->ranks) end = place->ranks;
    return end - local_master_of(cluster) - 1;
}

static inline Place place_of_this_rank(void)
{
    Place place;
    MPI_Comm_rank(MPI_COMM_WORLD, &place.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &place.ranks);
    place.cluster = place.rank / RANKS_PER_CLUSTER;
    place.clusters = (place.ranks + RANKS_PER_CLUSTER - 1) / RANKS_PER_CLUSTER;
    place.role = place.rank == GLOBAL_MASTER                          ? ROLE_GLOBAL_MASTER
                 : place.rank == local_master_of(place.cluster) ? ROLE_LOCAL_MASTER
                                                                      : ROLE_SLAVE;
    return place;
}

/* Whether every cluster has its local master and at least so many slaves. */
static inline int every_cluster_has_slaves(const Place *place, int least)
{
    return place->ranks >= 2 && slaves_of(place, 0) >= least && slaves_of(place, place->clusters - 1) >= least;
}

/* Where part `part` of `parts` begins when `total` things are divided evenly; that of part `parts` is the end. */
static inline int64_t part_begin(int64_t total, int parts, int part) { return total * part / parts; }

#endif
