/* Communicators of random collectives: of all, of some, between groups, and with neighbours. */
#ifndef RANDOM_PLACES_H
#define RANDOM_PLACES_H

#include "random.h"

enum { MOST_RANKS = 64 };

/* A communicator, and whom its operations move data between. */
struct place {
    MPI_Comm comm;
    int me, side, theirs, mine, others, is_inter, is_graph;
    int outs, ins, to[MOST_RANKS], from[MOST_RANKS];
};

/* Who talks to whom in a graph, the same for all. */
static int is_edge(uint64_t key, int from, int to)
{
    return mixed(key + (uint64_t)from * 77 + (uint64_t)to) % 3 == 0;
}

static void make_graph(MPI_Comm base, uint64_t key, struct place *made)
{
    int me, members;
    MPI_Comm_rank(base, &me), MPI_Comm_size(base, &members);
    made->is_graph = 1;
    for (int i = members - 1; i >= 0; i--) {
        if (is_edge(key, i, me)) made->from[made->ins++] = i;
        if (is_edge(key, me, i)) made->to[made->outs++] = i;
    }
    MPI_Dist_graph_create_adjacent(base, made->ins, made->from, MPI_UNWEIGHTED, made->outs,
                                   made->to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made->comm);
}

static void make_place(const struct job *job, struct draw *from, struct place *made)
{
    MPI_Comm half;
    MPI_Group all, some;
    int how = draw(from, size > 1 ? 8 : 4), me = rank, list[MOST_RANKS], count = 0;
    uint64_t key = number(from);
    int color = rank == 0 ? 0 : rank == size - 1 ? 1 : (int)(mixed(key + (uint64_t)rank) % 2);
    *made = (struct place){.comm = MPI_COMM_NULL};
    switch (how) {
    case 0: MPI_Comm_dup(job->comm, &made->comm); break;
    case 1: MPI_Comm_split(job->comm, 0, -me, &made->comm); break;
    case 2:
        MPI_Comm_split(job->comm, me % 3, (int)(mixed(key * 3 + (uint64_t)me) % 100), &made->comm);
        break;
    case 3: make_graph(job->comm, key, made); break;
    case 4: /* of some, and without the others */
        for (int i = size - 1; i >= 0; i--)
            if (mixed(key + (uint64_t)i) % 3) list[count++] = i;
        MPI_Comm_group(job->comm, &all);
        MPI_Group_incl(all, count, list, &some);
        MPI_Comm_create(job->comm, some, &made->comm);
        MPI_Group_free(&all), MPI_Group_free(&some);
        break;
    default:
        /* Rank 0 leads a half, and the last rank the other one: its order is reversed. */
        MPI_Comm_split(job->comm, color, color ? -me : me, &half);
        MPI_Intercomm_create(half, 0, job->comm, color ? 0 : size - 1, 7, &made->comm);
        MPI_Comm_free(&half);
        if (how == 5) {
            MPI_Comm merged;
            MPI_Intercomm_merge(made->comm, color, &merged);
            MPI_Comm_free(&made->comm);
            made->comm = merged;
        } else made->is_inter = 1, made->side = color;
    }
    if (made->comm == MPI_COMM_NULL) return;
    MPI_Comm_rank(made->comm, &made->me), MPI_Comm_size(made->comm, &made->mine);
    made->others = made->mine, made->theirs = made->side;
    if (made->is_inter) MPI_Comm_remote_size(made->comm, &made->others), made->theirs = !made->side;
}

/* The members of the other group, or of the same one if there is one only. */
static void meet_all(struct place *place)
{
    place->ins = place->outs = place->others;
    for (int i = 0; i < place->others; i++) place->to[i] = place->from[i] = i;
}

#endif
