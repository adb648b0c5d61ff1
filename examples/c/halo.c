/* A halo exchange: ranks on a ring, each with a piece of a rod, send their edges to both neighbours in every step.
 *
 * A piece has a halo on both sides: a copy of the neighbours' edges. A step exchanges the halos, then moves every cell
 * to the mean of what lies `width` cells to its left and to its right. The mean of all cells never changes.
 *
 * usage: halo [--width CELLS] [--cells CELLS] [--steps STEPS] [--order together|turn]
 *   --width   cells of an edge, each a double of 8 bytes (default: 1024): the size of a message
 *   --cells   cells of a rank (default: two edges)
 *   --steps   exchanges (default: 10)
 *   --order   `together` (the default): all messages of a step are on their way at the same time;
 *             `turn`: each rank receives before it sends, which makes the ranks wait for each other in a chain */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks, left, right;
static int width = 1024, cells = 0, steps = 10, in_turn = 0;

static void wrong(const char *what, const char *value, const char *expected)
{
    fprintf(stderr, "halo: %s is %s, expected %s\n", what, value, expected);
    MPI_Abort(MPI_COMM_WORLD, 2);
}

static void read_options(int argc, char **argv)
{
    for (int i = 1; i < argc; i += 2) {
        int *option = !strcmp(argv[i], "--width") ? &width
                    : !strcmp(argv[i], "--cells") ? &cells
                    : !strcmp(argv[i], "--steps") ? &steps : NULL;
        const char *value = i + 1 < argc ? argv[i + 1] : "missing";
        if (!strcmp(argv[i], "--order")) {
            in_turn = !strcmp(value, "turn");
            if (!in_turn && strcmp(value, "together")) wrong(argv[i], value, "together or turn");
        } else if (!option) wrong("an option", argv[i], "--width, --cells, --steps or --order");
        else if ((*option = atoi(value)) < 1) wrong(argv[i], value, "a number from 1 on");
    }
    if (cells == 0) cells = 2 * width;
    if (cells < width) wrong("--cells", "less than --width", "at least as many cells as an edge has");
}

/* Receives are there before the messages, and no rank waits before it has sent. */
static void exchange_together(double *cell)
{
    MPI_Request requests[4];
    MPI_Irecv(cell - width, width, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(cell + cells, width, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(cell + cells - width, width, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(cell, width, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

/* Correct, for rank 0 begins, and slow: a rank sends to the right when it has heard from the left. */
static void exchange_in_turn(double *cell)
{
    if (rank > 0) MPI_Recv(cell - width, width, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(cell + cells - width, width, MPI_DOUBLE, right, 0, MPI_COMM_WORLD);
    if (rank == 0) MPI_Recv(cell - width, width, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);

    if (rank > 0) MPI_Recv(cell + cells, width, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(cell, width, MPI_DOUBLE, left, 1, MPI_COMM_WORLD);
    if (rank == 0) MPI_Recv(cell + cells, width, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    read_options(argc, argv);
    left = (rank + ranks - 1) % ranks;
    right = (rank + 1) % ranks;

    /* halo of the left neighbour, own cells, halo of the right neighbour */
    size_t length = (size_t)cells + 2 * (size_t)width;
    double *now = malloc(length * sizeof *now), *next = malloc(length * sizeof *next);
    if (!now || !next) wrong("--cells", "too large", "cells that fit into memory");
    for (int i = 0; i < cells; i++) now[width + i] = (rank * 7 + i) % 100;

    for (int step = 0; step < steps; step++) {
        if (in_turn && ranks > 1) exchange_in_turn(now + width);
        else exchange_together(now + width);
        for (int i = width; i < width + cells; i++) next[i] = (now[i - width] + now[i + width]) / 2;
        double *swap = now;
        now = next;
        next = swap;
    }

    double mine = 0, sum = 0;
    for (int i = 0; i < cells; i++) mine += now[width + i];
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d ranks exchanged edges of %d cells %d times: the mean of all cells is %.1f\n", ranks, width, steps,
               sum / ranks / cells);
    free(now);
    free(next);
    MPI_Finalize();
    return 0;
}
