/* Every form of every collective: blocking, non-blocking, persistent, each with small and with large counts. */
#include "check.h"

enum { MOST = 16 };
static int in[4 * MOST], out[4 * MOST];
static int counts[MOST], starts[MOST], byte_starts[MOST];
static MPI_Count large_counts[MOST];
static MPI_Aint large_starts[MOST], large_byte_starts[MOST];
static MPI_Datatype types[MOST];
static int root;
static MPI_Comm comm;

/* What a rank sends in the i-th place. */
static int value(int from, int i) { return from * 1000 + i; }

static void reset(int filled)
{
    for (int i = 0; i < 4 * MOST; i++) {
        in[i] = value(rank, i);
        out[i] = filled ? in[i] : -1;
    }
}

static void finish(MPI_Request *request, int persistent)
{
    if (persistent) MPI_Start(request);
    MPI_Wait(request, MPI_STATUS_IGNORE);
    if (persistent) MPI_Request_free(request);
}

#define UNPACKED(...) __VA_ARGS__
/* The six forms, with the arguments of the small and of the large ones. */
#define FORMS(plain, plain_c, now, now_c, init, init_c, small, large, filled, expect)                                   \
    do {                                                                                                                \
        MPI_Request request;                                                                                            \
        reset(filled), plain(UNPACKED small, comm), expect(#plain);                                                     \
        reset(filled), plain_c(UNPACKED large, comm), expect(#plain_c);                                                 \
        reset(filled), now(UNPACKED small, comm, &request), finish(&request, 0), expect(#now);                          \
        reset(filled), now_c(UNPACKED large, comm, &request), finish(&request, 0), expect(#now_c);                      \
        reset(filled), init(UNPACKED small, comm, MPI_INFO_NULL, &request), finish(&request, 1), expect(#init);         \
        reset(filled), init_c(UNPACKED large, comm, MPI_INFO_NULL, &request), finish(&request, 1), expect(#init_c);     \
    } while (0)

static void found(const char *call, int at, int expected)
{
    if (out[at] != expected && failures++ < 20)
        fprintf(stderr, "rank %d of %d, %s, root %d: out[%d] is %d, expected %d\n", rank, size, call, root, at, out[at], expected);
}

static void of_root(const char *call)
{
    for (int i = 0; i < 4; i++) found(call, i, value(root, i));
}

static void gathered(const char *call)
{
    for (int i = 0; i < 2 * size; i++) found(call, i, rank == root ? value(i / 2, i % 2) : -1);
}

static void all_gathered(const char *call)
{
    for (int i = 0; i < 2 * size; i++) found(call, i, value(i / 2, i % 2));
}

/* Rank r has r % 3 values, in the places from 3 r on. */
static void gathered_unevenly(const char *call)
{
    for (int i = 0; i < 3 * size; i++) found(call, i, rank == root && i % 3 < i / 3 % 3 ? value(i / 3, i % 3) : -1);
}

static void all_gathered_unevenly(const char *call)
{
    for (int i = 0; i < 3 * size; i++) found(call, i, i % 3 < i / 3 % 3 ? value(i / 3, i % 3) : -1);
}

static void scattered(const char *call)
{
    for (int i = 0; i < 2; i++) found(call, i, value(root, 2 * rank + i));
}

static void scattered_unevenly(const char *call)
{
    for (int i = 0; i < 3; i++) found(call, i, i < rank % 3 ? value(root, 3 * rank + i) : -1);
}

static void exchanged(const char *call)
{
    for (int i = 0; i < 2 * size; i++) found(call, i, value(i / 2, 2 * rank + i % 2));
}

static int sum(int last, int i)
{
    int total = 0;
    for (int r = 0; r <= last; r++) total += value(r, i);
    return total;
}

static void reduced(const char *call)
{
    for (int i = 0; i < 3; i++) found(call, i, rank == root ? sum(size - 1, i) : -1);
}

static void all_reduced(const char *call)
{
    for (int i = 0; i < 3; i++) found(call, i, sum(size - 1, i));
}

static void scanned(const char *call)
{
    for (int i = 0; i < 3; i++) found(call, i, sum(rank, i));
}

static void scanned_before(const char *call)
{
    for (int i = 0; i < 3 && rank > 0; i++) found(call, i, sum(rank - 1, i));
}

static void block_reduced(const char *call)
{
    for (int i = 0; i < 2; i++) found(call, i, sum(size - 1, 2 * rank + i));
}

static void part_reduced(const char *call)
{
    int before = 0;
    for (int r = 0; r < rank; r++) before += counts[r];
    for (int i = 0; i < counts[rank]; i++) found(call, i, sum(size - 1, before + i));
}

static void rooted(void)
{
    FORMS(MPI_Bcast, MPI_Bcast_c, MPI_Ibcast, MPI_Ibcast_c, MPI_Bcast_init, MPI_Bcast_init_c, (out, 4, MPI_INT, root),
          (out, 4, MPI_INT, root), 1, of_root);
    FORMS(MPI_Gather, MPI_Gather_c, MPI_Igather, MPI_Igather_c, MPI_Gather_init, MPI_Gather_init_c,
          (in, 2, MPI_INT, out, 2, MPI_INT, root), (in, 2, MPI_INT, out, 2, MPI_INT, root), 0, gathered);
    FORMS(MPI_Gatherv, MPI_Gatherv_c, MPI_Igatherv, MPI_Igatherv_c, MPI_Gatherv_init, MPI_Gatherv_init_c,
          (in, rank % 3, MPI_INT, out, counts, starts, MPI_INT, root),
          (in, rank % 3, MPI_INT, out, large_counts, large_starts, MPI_INT, root), 0, gathered_unevenly);
    FORMS(MPI_Scatter, MPI_Scatter_c, MPI_Iscatter, MPI_Iscatter_c, MPI_Scatter_init, MPI_Scatter_init_c,
          (in, 2, MPI_INT, out, 2, MPI_INT, root), (in, 2, MPI_INT, out, 2, MPI_INT, root), 0, scattered);
    FORMS(MPI_Scatterv, MPI_Scatterv_c, MPI_Iscatterv, MPI_Iscatterv_c, MPI_Scatterv_init, MPI_Scatterv_init_c,
          (in, counts, starts, MPI_INT, out, rank % 3, MPI_INT, root),
          (in, large_counts, large_starts, MPI_INT, out, rank % 3, MPI_INT, root), 0, scattered_unevenly);
    FORMS(MPI_Reduce, MPI_Reduce_c, MPI_Ireduce, MPI_Ireduce_c, MPI_Reduce_init, MPI_Reduce_init_c,
          (in, out, 3, MPI_INT, MPI_SUM, root), (in, out, 3, MPI_INT, MPI_SUM, root), 0, reduced);
}

static void unrooted(void)
{
    int twos[MOST], even[MOST];
    MPI_Count large_twos[MOST];
    MPI_Aint large_even[MOST];
    for (int r = 0; r < size; r++) {
        large_twos[r] = twos[r] = 2;
        large_even[r] = even[r] = 2 * r;
    }
    FORMS(MPI_Allgather, MPI_Allgather_c, MPI_Iallgather, MPI_Iallgather_c, MPI_Allgather_init, MPI_Allgather_init_c,
          (in, 2, MPI_INT, out, 2, MPI_INT), (in, 2, MPI_INT, out, 2, MPI_INT), 0, all_gathered);
    FORMS(MPI_Allgatherv, MPI_Allgatherv_c, MPI_Iallgatherv, MPI_Iallgatherv_c, MPI_Allgatherv_init, MPI_Allgatherv_init_c,
          (in, rank % 3, MPI_INT, out, counts, starts, MPI_INT),
          (in, rank % 3, MPI_INT, out, large_counts, large_starts, MPI_INT), 0, all_gathered_unevenly);
    FORMS(MPI_Alltoall, MPI_Alltoall_c, MPI_Ialltoall, MPI_Ialltoall_c, MPI_Alltoall_init, MPI_Alltoall_init_c,
          (in, 2, MPI_INT, out, 2, MPI_INT), (in, 2, MPI_INT, out, 2, MPI_INT), 0, exchanged);
    FORMS(MPI_Alltoallv, MPI_Alltoallv_c, MPI_Ialltoallv, MPI_Ialltoallv_c, MPI_Alltoallv_init, MPI_Alltoallv_init_c,
          (in, twos, even, MPI_INT, out, twos, even, MPI_INT),
          (in, large_twos, large_even, MPI_INT, out, large_twos, large_even, MPI_INT), 0, exchanged);
    FORMS(MPI_Alltoallw, MPI_Alltoallw_c, MPI_Ialltoallw, MPI_Ialltoallw_c, MPI_Alltoallw_init, MPI_Alltoallw_init_c,
          (in, twos, byte_starts, types, out, twos, byte_starts, types),
          (in, large_twos, large_byte_starts, types, out, large_twos, large_byte_starts, types), 0, exchanged);
    FORMS(MPI_Allreduce, MPI_Allreduce_c, MPI_Iallreduce, MPI_Iallreduce_c, MPI_Allreduce_init, MPI_Allreduce_init_c,
          (in, out, 3, MPI_INT, MPI_SUM), (in, out, 3, MPI_INT, MPI_SUM), 0, all_reduced);
    FORMS(MPI_Scan, MPI_Scan_c, MPI_Iscan, MPI_Iscan_c, MPI_Scan_init, MPI_Scan_init_c, (in, out, 3, MPI_INT, MPI_SUM),
          (in, out, 3, MPI_INT, MPI_SUM), 0, scanned);
    FORMS(MPI_Exscan, MPI_Exscan_c, MPI_Iexscan, MPI_Iexscan_c, MPI_Exscan_init, MPI_Exscan_init_c,
          (in, out, 3, MPI_INT, MPI_SUM), (in, out, 3, MPI_INT, MPI_SUM), 0, scanned_before);
    FORMS(MPI_Reduce_scatter_block, MPI_Reduce_scatter_block_c, MPI_Ireduce_scatter_block, MPI_Ireduce_scatter_block_c,
          MPI_Reduce_scatter_block_init, MPI_Reduce_scatter_block_init_c, (in, out, 2, MPI_INT, MPI_SUM),
          (in, out, 2, MPI_INT, MPI_SUM), 0, block_reduced);
    FORMS(MPI_Reduce_scatter, MPI_Reduce_scatter_c, MPI_Ireduce_scatter, MPI_Ireduce_scatter_c, MPI_Reduce_scatter_init,
          MPI_Reduce_scatter_init_c, (in, out, counts, MPI_INT, MPI_SUM), (in, out, large_counts, MPI_INT, MPI_SUM), 0,
          part_reduced);
}

static void multiply(void *left, void *right, MPI_Count *count, MPI_Datatype *type)
{
    CHECK(*type == MPI_INT);
    for (MPI_Count i = 0; i < *count; i++) ((int *)right)[i] = ((int *)left)[i] * 2 + ((int *)right)[i];
}

static void own_operations(void)
{
    MPI_Op op;
    int commutes = -1, left[2] = {10, 20}, right[2] = {1, 2}, more[2] = {5, 6}, total = 0, expected = 0;
    MPI_Op_create_c(multiply, 0, &op);
    MPI_Op_commutative(op, &commutes);
    SAME(commutes, 0);
    MPI_Reduce_local_c(left, right, 2, MPI_INT, op);
    CHECK(right[0] == 21 && right[1] == 42);
    MPI_Reduce_local(left, more, 2, MPI_INT, op);
    CHECK(more[0] == 25 && more[1] == 46);
    /* It is not associative: a single pair of ranks has one result. */
    if (size == 2) {
        MPI_Allreduce(&rank, &total, 1, MPI_INT, op, comm);
        expected = 1;
        SAME(total, expected);
    }
    MPI_Op_free(&op);
    CHECK(op == MPI_OP_NULL);
}

static void barriers(void)
{
    MPI_Request request;
    MPI_Barrier(comm);
    MPI_Ibarrier(comm, &request);
    finish(&request, 0);
    MPI_Barrier_init(comm, MPI_INFO_NULL, &request);
    finish(&request, 1);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int r = 0; r < size; r++) {
        large_counts[r] = counts[r] = r % 3;
        large_starts[r] = starts[r] = 3 * r;
        large_byte_starts[r] = byte_starts[r] = 8 * r;
        types[r] = MPI_INT;
    }
    for (root = 0; root < size; root++) rooted();
    unrooted();
    own_operations();
    barriers();
    MPI_Comm_free(&comm);
    return conclude();
}
