/* Collectives that do not block: several at once, completed in another order than started, beside point-to-point traffic. */
#include "check.h"

enum { COUNT = 3000 };

static int *numbers(int count, int base)
{
    int *data = malloc(count * sizeof *data);
    for (int i = 0; i < count; i++) data[i] = base + i;
    return data;
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    int next = (rank + 1) % size, previous = (rank + size - 1) % size, sums = size * (size - 1) / 2;
    for (int count = 1; count <= COUNT; count = count < 50 ? count * 7 : count == COUNT ? COUNT + 1 : COUNT) {
        int *mine = numbers(count, rank), *many = numbers(count * size, rank);
        int *bcast = numbers(count, rank), *sum = numbers(count, -1), *gathered = numbers(count * size, -1);
        int *exchanged = numbers(count * size, -1), *scan = numbers(count, -1), *exscan = numbers(count, -1);
        int *reduced = numbers(count, -1), *scattered = numbers(count, -1), *collected = numbers(count * size, -1);
        int *block = numbers(count, -1), token = rank, got = -1;
        MPI_Request requests[13];
        int n = 0;
        MPI_Irecv(&got, 1, MPI_INT, previous, 1, MPI_COMM_WORLD, &requests[n++]);
        MPI_Ibarrier(MPI_COMM_WORLD, &requests[n++]);
        MPI_Ibcast(bcast, count, MPI_INT, size - 1, MPI_COMM_WORLD, &requests[n++]);
        MPI_Iallreduce(mine, sum, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[n++]);
        MPI_Iallgather(mine, count, MPI_INT, gathered, count, MPI_INT, MPI_COMM_WORLD, &requests[n++]);
        MPI_Ialltoall(many, count, MPI_INT, exchanged, count, MPI_INT, MPI_COMM_WORLD, &requests[n++]);
        MPI_Iscan(mine, scan, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[n++]);
        MPI_Iexscan(mine, exscan, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[n++]);
        MPI_Ireduce(mine, reduced, count, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD, &requests[n++]);
        MPI_Iscatter(many, count, MPI_INT, scattered, count, MPI_INT, 0, MPI_COMM_WORLD, &requests[n++]);
        MPI_Igather(mine, count, MPI_INT, collected, count, MPI_INT, 0, MPI_COMM_WORLD, &requests[n++]);
        MPI_Ireduce_scatter_block(many, block, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[n++]);
        MPI_Isend(&token, 1, MPI_INT, next, 1, MPI_COMM_WORLD, &requests[n++]);
        SAME(n, 13);
        /* Each rank completes them in an order of its own. */
        for (int i = 0; i < n; i++) MPI_Wait(&requests[(i * 5 + rank) % 13], MPI_STATUS_IGNORE);
        SAME(got, previous);
        for (int i = 0; i < count; i++) {
            SAME(bcast[i], size - 1 + i);
            SAME(sum[i], sums + size * i);
            SAME(scan[i], rank * (rank + 1) / 2 + (rank + 1) * i);
            if (rank) SAME(exscan[i], rank * (rank - 1) / 2 + rank * i);
            if (rank == 0) SAME(reduced[i], size - 1 + i);
            SAME(scattered[i], rank * count + i);
            SAME(block[i], sums + size * (rank * count + i));
        }
        for (int i = 0; i < count * size; i++) {
            SAME(gathered[i], i / count + i % count);
            SAME(exchanged[i], i / count + rank * count + i % count);
            if (rank == 0) SAME(collected[i], i / count + i % count);
        }
        int *all[] = {mine, many, bcast, sum, gathered, exchanged, scan, exscan, reduced, scattered, collected, block};
        for (unsigned i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    }
    return conclude();
}
