/* What a job needs of its surroundings, once: ranks that start, short messages around a ring, a large message each way, a
 * reduction and barriers. `corelace doctor` compiles and runs it in each rank mode, and so do the tests. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGE = 1 << 20 };

static void fail(int rank, const char *what)
{
    fprintf(stderr, "rank %d: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;

    int token = rank;
    for (int step = 0; step < size; step++)
        MPI_Sendrecv_replace(&token, 1, MPI_INT, right, 1, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (token != rank)
        fail(rank, "a number that went around the ring came back as another");

    unsigned char *out = malloc(LARGE), *in = malloc(LARGE);
    if (!out || !in)
        fail(rank, "no memory for two buffers of 1 MiB");
    memset(out, 'a' + rank % 26, LARGE);
    memset(in, 0, LARGE);
    MPI_Sendrecv(out, LARGE, MPI_BYTE, right, 2, in, LARGE, MPI_BYTE, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < LARGE; i++)
        if (in[i] != 'a' + left % 26)
            fail(rank, "a message of 1 MiB arrived damaged");
    free(out);
    free(in);

    int one = 1, sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (sum != size)
        fail(rank, "the ranks were not counted right");
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        puts("no errors");
    MPI_Finalize();
    return 0;
}
