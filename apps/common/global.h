/* Ranks that compute, and one memory that all of them reach.
 *
 * The memory belongs to the I/O rank where a chip has one (--io of mpirun), and is then the DDR of its I/O subsystem; else it is
 * rank 0's, which computes as the others do. It is a window for MPIX_Put_block and MPIX_Get_block; displacements are bytes.
 *
 * The I/O rank is started without words of its own and is told by rank 0 what the command line says. A rank that writes and one
 * that reads the same place need a meeting between them: global_meet among those that compute, global_meet_all with the owner. */
#ifndef APPS_GLOBAL_H
#define APPS_GLOBAL_H

#include <corelace.h>

#include "options.h"

typedef struct {
    int rank;            /* in MPIX_COMM_LOCAL */
    int owner;           /* of the memory, in MPIX_COMM_LOCAL */
    int worker, workers; /* place among the ranks that compute, or -1, and how many those are */
    bool owns;
    MPI_Win win;
    void *memory; /* of the owner; NULL elsewhere */
} Global;

/* Who does what. By every rank, after MPI_Init. */
static inline Global global_roles(void)
{
    int ranks, is_io;
    Global global = {.win = MPI_WIN_NULL};
    MPI_Comm_rank(MPIX_COMM_LOCAL, &global.rank);
    MPI_Comm_size(MPIX_COMM_LOCAL, &ranks);
    MPIX_Io_rank(&is_io);
    int there_is_io = is_io;
    MPI_Allreduce(MPI_IN_PLACE, &there_is_io, 1, MPI_INT, MPI_MAX, MPIX_COMM_LOCAL);
    global.owner = there_is_io ? ranks - 1 : 0;
    global.owns = global.rank == global.owner;
    global.workers = ranks - there_is_io;
    global.worker = is_io ? -1 : global.rank;
    return global;
}

/* What rank 0 has read of the command line, at every rank: whether to go on, and the program's settings, which hold no pointers. */
static inline OptionsRead global_told(OptionsRead read, void *settings, size_t bytes)
{
    MPI_Bcast(&read, sizeof read, MPI_BYTE, 0, MPIX_COMM_LOCAL);
    MPI_Bcast(settings, (int)bytes, MPI_BYTE, 0, MPIX_COMM_LOCAL);
    return read;
}

/* Makes the memory. Its epoch is open until global_close. */
static inline void global_open(Global *global, MPI_Aint bytes)
{
    void *memory;
    MPI_Win_allocate(global->owns ? bytes : 0, 1, MPI_INFO_NULL, MPIX_COMM_LOCAL, &memory, &global->win);
    if (global->owns) global->memory = memory;
    MPI_Win_lock_all(MPI_MODE_NOCHECK, global->win);
}

static inline void global_close(Global *global)
{
    MPI_Win_unlock_all(global->win);
    MPI_Win_free(&global->win);
    global->memory = NULL;
}

/* The rest of the memory from `at` on lies in the DDR of another I/O subsystem, if there are to be two. By every rank, after global_open. */
static inline void global_divide(const Global *global, int ddrs, MPI_Aint at, MPI_Aint bytes)
{
    if (ddrs > 1 && global->owns) MPIX_Segment_place((char *)global->memory + at, bytes, 1);
}

/* What this rank has put is at the owner, and what others have put is seen from here on, once `comm` has met. */
static inline void global_meet_in(const Global *global, MPI_Comm comm)
{
    MPI_Win_flush(global->owner, global->win);
    MPI_Win_sync(global->win);
    MPI_Barrier(comm);
    MPI_Win_sync(global->win);
}

/* By those that compute; the I/O rank takes no part. */
static inline void global_meet(const Global *global) { global_meet_in(global, MPI_COMM_WORLD); }

/* By every rank. */
static inline void global_meet_all(const Global *global) { global_meet_in(global, MPIX_COMM_LOCAL); }

/* An array in the memory. */
typedef struct {
    MPI_Aint at; /* bytes from the begin of the memory */
    int ndims, extents[3];
    MPI_Datatype element;
} GlobalArray;

/* An array of this rank, and where in it a block lies. */
typedef struct {
    void *data;
    const int *extents, *starts;
} LocalPart;

static inline void global_get(const Global *global, const GlobalArray *array, const int *starts, const int *block, LocalPart to,
                              MPI_Request *event)
{
    MPIX_Get_block(array->ndims, block, to.data, to.extents, to.starts, array->element, global->owner, array->at, array->extents, starts,
                   global->win, event);
}

static inline void global_put(const Global *global, const GlobalArray *array, const int *starts, const int *block, LocalPart from,
                              MPI_Request *event)
{
    MPIX_Put_block(array->ndims, block, from.data, from.extents, from.starts, array->element, global->owner, array->at, array->extents,
                   starts, global->win, event);
}

#endif
