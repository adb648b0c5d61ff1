/* Computation offloaded from hosts to their cards, as programs for co-processors are written: the first half of the ranks are hosts, which talk to each
 * other, and each has a card among the second half, which only computes. Data goes to the card and back by one-sided copies into memory of the card; an
 * offloaded region is a word to the card and an answer.
 *
 * On the simulated system of DCFA-MPI: mpirun --on host,card --ipc intel-offload. Elsewhere the ranks are where they are.       */
#ifndef APPS_OFFLOAD_H
#define APPS_OFFLOAD_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

/* How a program runs: all ranks compute and communicate, on cards by DCFA-MPI or by another MPI (which one, mpirun is told), or hosts offload to cards. */
typedef enum { MODE_DCFA, MODE_CARD, MODE_OFFLOAD } Mode;
static const char MODE_WORDS[] = "dcfa|card|offload";
static const char *const MODE_NAMES[] = {"dcfa", "card", "offload"};

/* A rank and, in offload mode, its other half. */
typedef struct {
    MPI_Comm comm; /* of those who talk to each other; of the cards on a card */
    int rank, ranks; /* there */
    bool is_card, has_card;
    int other;      /* rank of MPI_COMM_WORLD: the card of a host, the host of a card */
    MPI_Win window; /* memory of the cards */
    char *memory;   /* that of this card */
} Place;

enum { OFFLOAD_ENDS = -1 };

/* Ranks that offload must be of an even number. `bytes` is what a card keeps for its host to reach. */
static inline Place place_of(Mode mode, size_t bytes)
{
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    Place place = {.comm = MPI_COMM_WORLD, .rank = rank, .ranks = ranks, .window = MPI_WIN_NULL};
    if (mode != MODE_OFFLOAD) return place;
    int nodes = ranks / 2;
    place.is_card = rank >= nodes;
    place.has_card = !place.is_card;
    place.other = place.is_card ? rank - nodes : rank + nodes;
    MPI_Comm_split(MPI_COMM_WORLD, place.is_card, rank, &place.comm);
    place.rank = rank % nodes;
    place.ranks = nodes;
    MPI_Win_allocate(place.is_card ? (MPI_Aint)bytes : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &place.memory, &place.window);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, place.window);
    return place;
}

static inline void place_free(Place *place)
{
    if (place->window == MPI_WIN_NULL) return;
    MPI_Win_unlock_all(place->window);
    MPI_Win_free(&place->window);
    MPI_Comm_free(&place->comm);
}

/* A host copies to its card, or from there. */
static inline void copy_in(const Place *place, const void *from, size_t at, int bytes)
{
    MPI_Put(from, bytes, MPI_BYTE, place->other, (MPI_Aint)at, bytes, MPI_BYTE, place->window);
    MPI_Win_flush(place->other, place->window);
}

static inline void copy_out(const Place *place, void *to, size_t at, int bytes)
{
    MPI_Get(to, bytes, MPI_BYTE, place->other, (MPI_Aint)at, bytes, MPI_BYTE, place->window);
    MPI_Win_flush(place->other, place->window);
}

/* A host lets its card do something; the card says what came of it. */
static inline int offload(const Place *place, int what)
{
    int answer = 0;
    MPI_Send(&what, 1, MPI_INT, place->other, 0, MPI_COMM_WORLD);
    if (what != OFFLOAD_ENDS) MPI_Recv(&answer, 1, MPI_INT, place->other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return answer;
}

/* A card waits for what is to be done. */
static inline int offload_wait(const Place *place)
{
    int what;
    MPI_Recv(&what, 1, MPI_INT, place->other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Win_sync(place->window);
    return what;
}

static inline void offload_answer(const Place *place, int answer)
{
    MPI_Win_sync(place->window);
    MPI_Send(&answer, 1, MPI_INT, place->other, 0, MPI_COMM_WORLD);
}

#endif
