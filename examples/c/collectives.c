/*
 * Every rank takes part in one collective after the other; rank 0 prints what came out, and all check what they got.
 *
 * usage: collectives
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, ranks;

/* Ends the job if a number is not what it should be. */
static void expect(const char *what, long got, long wanted)
{
    if (got != wanted) {
        fprintf(stderr, "rank %d: %s gave %ld, expected %ld\n", rank, what, got, wanted);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void say(const char *what, long value)
{
    if (rank == 0) printf("%-12s %ld\n", what, value);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int sum_of_ranks = ranks * (ranks - 1) / 2;
    int *row = malloc(ranks * sizeof *row), *column = malloc(ranks * sizeof *column);
    if (!row || !column) {
        fprintf(stderr, "collectives: rank %d has no memory for %d numbers\n", rank, 2 * ranks);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }

    MPI_Barrier(MPI_COMM_WORLD);
    int word = rank == 0 ? 42 : 0;
    MPI_Bcast(&word, 1, MPI_INT, 0, MPI_COMM_WORLD);
    expect("bcast", word, 42);
    say("bcast", word);

    int sum = 0;
    MPI_Reduce(&rank, &sum, 1, MPI_INT, MPI_SUM, ranks - 1, MPI_COMM_WORLD);
    if (rank == ranks - 1) expect("reduce", sum, sum_of_ranks);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    expect("allreduce", sum, sum_of_ranks);
    say("allreduce", sum);

    int before;
    MPI_Scan(&rank, &before, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    expect("scan", before, rank * (rank + 1) / 2);

    for (int i = 0; i < ranks; i++) row[i] = 10 * i;
    int mine;
    MPI_Scatter(row, 1, MPI_INT, &mine, 1, MPI_INT, 0, MPI_COMM_WORLD);
    expect("scatter", mine, 10 * rank);
    MPI_Gather(&mine, 1, MPI_INT, column, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (rank == 0) expect("gather", column[ranks - 1], 10 * (ranks - 1));
    MPI_Allgather(&rank, 1, MPI_INT, column, 1, MPI_INT, MPI_COMM_WORLD);
    expect("allgather", column[ranks / 2], ranks / 2);
    say("allgather", column[ranks - 1]);

    /* Rank i sends i * ranks + j to rank j: the transpose of a matrix whose rows lie on the ranks. */
    for (int i = 0; i < ranks; i++) row[i] = rank * ranks + i;
    MPI_Alltoall(row, 1, MPI_INT, column, 1, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < ranks; i++) expect("alltoall", column[i], i * ranks + rank);
    say("alltoall", column[ranks - 1]);

    free(row);
    free(column);
    MPI_Finalize();
    return 0;
}
