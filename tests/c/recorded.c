/* A run with something of everything that a replay has to understand: requests, wildcards, collectives of several communicators and of uneven blocks, windows. Computing is declared. */
#include <corelace.h>
#include <mpi.h>

#include "check.h"

enum { WIDTH = 512, TURNS = 4, STEPS = 10 };

/* Neighbours exchange their borders while both compute. */
static void exchange(double *row) {
    MPI_Request requests[4];
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    MPI_Irecv(row, 1, MPI_DOUBLE, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(row + WIDTH + 1, 1, MPI_DOUBLE, right, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(row + WIDTH, 1, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(row + 1, 1, MPI_DOUBLE, left, 2, MPI_COMM_WORLD, &requests[3]);
    MPIX_Compute(20000 + 1000 * rank);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    MPIX_Compute(5000);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

/* The first takes what comes first. */
static void collect(double *row, double *table) {
    if (rank == 0)
        for (int i = 1; i < size; i++) MPI_Recv(table, WIDTH, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else MPI_Send(row, WIDTH, MPI_DOUBLE, 0, 10 + rank, MPI_COMM_WORLD);
}

static void combine(double *row, MPI_Comm half, double *table) {
    double sum = 0, mine = 1;
    int counts[64], places[64], to[64];
    MPI_Request request;
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    SAME(sum, size);
    MPI_Bcast(row, 100, MPI_DOUBLE, 0, half);
    for (int i = 0; i < size; i++) counts[i] = i + 1, places[i] = i * (i + 1) / 2, to[i] = rank + 1;
    MPI_Alltoallv(row, to, places, MPI_DOUBLE, table, counts, places, MPI_DOUBLE, MPI_COMM_WORLD);
    MPI_Iallreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, half, &request);
    MPIX_Compute(3000);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Gather(&mine, 1, MPI_DOUBLE, table, 1, MPI_DOUBLE, 1, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void reach(void) {
    MPI_Win window;
    MPI_Group members, before, after;
    double *part, mine = rank;
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    MPI_Win_allocate(8 * sizeof *part, sizeof *part, MPI_INFO_NULL, MPI_COMM_WORLD, &part, &window);
    MPI_Win_fence(0, window);
    MPI_Put(&mine, 1, MPI_DOUBLE, right, 0, 1, MPI_DOUBLE, window);
    MPI_Win_fence(0, window);
    SAME(part[0], left);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    MPI_Accumulate(&mine, 1, MPI_DOUBLE, 0, 1, 1, MPI_DOUBLE, MPI_SUM, window);
    MPI_Win_unlock(0, window);
    MPI_Win_lock_all(0, window);
    MPI_Get(&mine, 1, MPI_DOUBLE, right, 0, 1, MPI_DOUBLE, window);
    MPI_Win_flush(right, window);
    MPI_Win_unlock_all(window);
    SAME(mine, rank);
    MPI_Win_get_group(window, &members);
    MPI_Group_incl(members, 1, &left, &before);
    MPI_Group_incl(members, 1, &right, &after);
    MPI_Win_post(before, 0, window);
    MPI_Win_start(after, 0, window);
    MPI_Put(&mine, 1, MPI_DOUBLE, right, 2, 1, MPI_DOUBLE, window);
    MPI_Win_complete(window);
    MPI_Win_wait(window);
    SAME(part[2], left);
    MPI_Group_free(&members);
    MPI_Group_free(&before);
    MPI_Group_free(&after);
    MPI_Win_free(&window);
}

int main(int argc, char **argv) {
    static double row[WIDTH + 2], table[WIDTH];
    begin(&argc, &argv);
    for (int turn = 0; turn < TURNS; turn++) {
        MPI_Comm half;
        /* Numbers of communicators that have gone are given again, to others. */
        MPI_Comm_split(MPI_COMM_WORLD, (rank + turn) % (1 + turn % 3), turn % 2 ? rank : -rank, &half);
        for (int step = 0; step < STEPS; step++) {
            exchange(row);
            collect(row, table);
            combine(row, half, table);
        }
        MPI_Comm_free(&half);
    }
    if (size > 1) reach();
    return conclude();
}
