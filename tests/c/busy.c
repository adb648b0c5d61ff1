/*
 * Ranks that compute while messages come: every round each sends to one rank and receives from another, in an order and with
 * a way of completing that depend on rank and round, with declared work between all steps.
 */
#include <corelace.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 30, LONGEST = 9000 };

static int rank, ranks;

static void complete(int round, MPI_Request *requests)
{
    int done = 0;
    switch (round % 3) {
    case 0:
        while (!done) {
            MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE);
            if (!done) MPIX_Compute(500);
        }
        break;
    case 1:
        while (!done) MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE);
        break;
    default:
        MPIX_Compute(20000);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
}

static void exchange(int round, char *mine, char *theirs)
{
    int shift = 1 + round * 131 % (ranks - 1), bytes = round * 7919 % LONGEST;
    int to = (rank + shift) % ranks, from = (rank - shift + ranks) % ranks;
    int expected = round % 5 ? from : MPI_ANY_SOURCE;
    MPI_Request requests[2];
    memset(mine, rank + round, bytes);
    MPIX_Compute((rank * 7919 + round * 104729) % 50000);
    if ((rank + round) % 2) {
        MPI_Irecv(theirs, bytes, MPI_BYTE, expected, round, MPI_COMM_WORLD, &requests[0]);
        MPIX_Compute(rank * 31 % 30000);
        MPI_Isend(mine, bytes, MPI_BYTE, to, round, MPI_COMM_WORLD, &requests[1]);
    } else {
        MPI_Isend(mine, bytes, MPI_BYTE, to, round, MPI_COMM_WORLD, &requests[1]);
        MPIX_Compute(rank * 37 % 90000);
        MPI_Irecv(theirs, bytes, MPI_BYTE, expected, round, MPI_COMM_WORLD, &requests[0]);
    }
    complete(round, requests);
    for (int i = 0; i < bytes; i++)
        if (theirs[i] != (char)(from + round)) {
            fprintf(stderr, "rank %d, round %d: byte %d is wrong\n", rank, round, i);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    char *mine = malloc(LONGEST), *theirs = malloc(LONGEST);
    if (!mine || !theirs) MPI_Abort(MPI_COMM_WORLD, 3);
    for (int round = 0; round < ROUNDS; round++) {
        exchange(round, mine, theirs);
        if (round % 7 == 0) MPI_Barrier(MPI_COMM_WORLD);
    }
    free(mine);
    free(theirs);
    MPI_Finalize();
    if (rank == 0) printf("no errors\n");
    return 0;
}
