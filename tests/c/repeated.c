/* Persistent collectives: each is described once and started several times with what the buffers hold then. Members may start
 * them in different orders. */
#include "check.h"

enum { ROUNDS = 4, MANY = 17 };

static int *space(int count) { return calloc((size_t)count, sizeof(int)); }

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Info none = MPI_INFO_NULL;
    int *mine = space(size), *counts = space(size), *places = space(size);
    int *gathered = space(size), *scattered = space(1), *exchanged = space(size);
    int value, reduced = 0, everywhere = 0, prefix = 0, before = 0, block = 0, part = 0, varying = 0, several = 0;
    int *gathered_v = space(size), *allgathered = space(size), *allgathered_v = space(size), *exchanged_v = space(size);
    int *exchanged_w = space(size), *bytes = space(size);
    MPI_Datatype *types = malloc((size_t)size * sizeof *types);
    for (int r = 0; r < size; r++) {
        counts[r] = 1;
        places[r] = r;
        bytes[r] = r * (int)sizeof(int);
        types[r] = MPI_INT;
    }
    MPI_Request request[MANY];
    int n = 0, root = size - 1;
    MPI_Barrier_init(world, none, &request[n++]);
    MPI_Bcast_init(&several, 1, MPI_INT, root, world, none, &request[n++]);
    MPI_Reduce_init(&value, &reduced, 1, MPI_INT, MPI_SUM, root, world, none, &request[n++]);
    MPI_Allreduce_init(&value, &everywhere, 1, MPI_INT, MPI_MAX, world, none, &request[n++]);
    MPI_Gather_init(&value, 1, MPI_INT, gathered, 1, MPI_INT, root, world, none, &request[n++]);
    MPI_Gatherv_init(&value, 1, MPI_INT, gathered_v, counts, places, MPI_INT, root, world, none, &request[n++]);
    MPI_Scatter_init(mine, 1, MPI_INT, scattered, 1, MPI_INT, root, world, none, &request[n++]);
    MPI_Scatterv_init(mine, counts, places, MPI_INT, &varying, 1, MPI_INT, root, world, none, &request[n++]);
    MPI_Allgather_init(&value, 1, MPI_INT, allgathered, 1, MPI_INT, world, none, &request[n++]);
    MPI_Allgatherv_init(&value, 1, MPI_INT, allgathered_v, counts, places, MPI_INT, world, none, &request[n++]);
    MPI_Alltoall_init(mine, 1, MPI_INT, exchanged, 1, MPI_INT, world, none, &request[n++]);
    MPI_Alltoallv_init(mine, counts, places, MPI_INT, exchanged_v, counts, places, MPI_INT, world, none, &request[n++]);
    MPI_Alltoallw_init(mine, counts, bytes, types, exchanged_w, counts, bytes, types, world, none, &request[n++]);
    MPI_Scan_init(&value, &prefix, 1, MPI_INT, MPI_SUM, world, none, &request[n++]);
    MPI_Exscan_init(&value, &before, 1, MPI_INT, MPI_SUM, world, none, &request[n++]);
    MPI_Reduce_scatter_block_init(mine, &block, 1, MPI_INT, MPI_SUM, world, none, &request[n++]);
    MPI_Reduce_scatter_init(mine, &part, counts, MPI_INT, MPI_SUM, world, none, &request[n++]);
    SAME(n, MANY);

    for (int round = 0; round < ROUNDS; round++) {
        int base = 100 * round, pairs = size * (size - 1) / 2;
        value = base + rank;
        several = rank == root ? base + 7 : -1;
        for (int r = 0; r < size; r++) mine[r] = base + 10 * rank + r;
        for (int k = 0; k < MANY; k++) MPI_Start(&request[(k + rank) % MANY]);
        MPI_Waitall(MANY, request, MPI_STATUSES_IGNORE);
        SAME(several, base + 7);
        SAME(everywhere, base + size - 1);
        SAME(prefix, (rank + 1) * base + rank * (rank + 1) / 2);
        if (rank > 0) SAME(before, rank * base + rank * (rank - 1) / 2);
        SAME(scattered[0], base + 10 * root + rank);
        SAME(varying, base + 10 * root + rank);
        SAME(block, size * base + 10 * pairs + size * rank);
        SAME(part, size * base + 10 * pairs + size * rank);
        for (int r = 0; r < size; r++) {
            SAME(allgathered[r], base + r);
            SAME(allgathered_v[r], base + r);
            SAME(exchanged[r], base + 10 * r + rank);
            SAME(exchanged_v[r], base + 10 * r + rank);
            SAME(exchanged_w[r], base + 10 * r + rank);
            if (rank == root) SAME(gathered[r], base + r);
            if (rank == root) SAME(gathered_v[r], base + r);
        }
        if (rank == root) SAME(reduced, size * base + pairs);
    }
    for (int k = 0; k < MANY; k++) {
        MPI_Request_free(&request[k]);
        CHECK(request[k] == MPI_REQUEST_NULL);
    }
    free(mine), free(counts), free(places), free(gathered), free(scattered), free(exchanged);
    free(gathered_v), free(allgathered), free(allgathered_v), free(exchanged_v), free(exchanged_w), free(bytes), free(types);
    return conclude();
}
