/* Collectives of equal parts, for sizes on both sides of every change of algorithm, every root, in place and not. */
#include "check.h"

#include <time.h>

static const int counts[] = {0, 1, 3, 100, 2500, 30000};
enum { COUNTS = 6, LONGEST = 30000 };

static int value(int from, int i) { return from * 1000003 + i * 7; }

static int *numbers(int count) { return memset(malloc((count + 1) * sizeof(int)), 0x55, (count + 1) * sizeof(int)); }

static void bcast(int count, int root)
{
    int *data = numbers(count);
    for (int i = 0; i < count; i++) data[i] = rank == root ? value(root, i) : -1;
    MPI_Bcast(data, count, MPI_INT, root, MPI_COMM_WORLD);
    for (int i = 0; i < count; i++) SAME(data[i], value(root, i));
    SAME(data[count], 0x55555555);
    free(data);
}

static void gather_and_scatter(int count, int root, int in_place)
{
    int *part = numbers(count), *whole = numbers(rank == root ? count * size : 0);
    for (int i = 0; i < count; i++) part[i] = value(rank, i);
    if (rank == root && in_place) memcpy(whole + rank * count, part, count * sizeof(int));
    MPI_Gather(rank == root && in_place ? MPI_IN_PLACE : part, count, MPI_INT, whole, count, MPI_INT, root, MPI_COMM_WORLD);
    for (int i = 0; rank == root && i < count * size; i++) SAME(whole[i], value(i / count, i % count));
    for (int i = 0; rank == root && i < count * size; i++) whole[i] += 5;
    for (int i = 0; i < count; i++) part[i] = -1;
    MPI_Scatter(whole, count, MPI_INT, rank == root && in_place ? MPI_IN_PLACE : part, count, MPI_INT, root, MPI_COMM_WORLD);
    for (int i = 0; !(rank == root && in_place) && i < count; i++) SAME(part[i], value(rank, i) + 5);
    free(part);
    free(whole);
}

static void allgather(int count, int in_place)
{
    int *part = numbers(count), *whole = numbers(count * size);
    for (int i = 0; i < count; i++) part[i] = value(rank, i);
    if (in_place) memcpy(whole + rank * count, part, count * sizeof(int));
    MPI_Allgather(in_place ? MPI_IN_PLACE : part, count, MPI_INT, whole, count, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < count * size; i++) SAME(whole[i], value(i / count, i % count));
    SAME(whole[count * size], 0x55555555);
    free(part);
    free(whole);
}

static void alltoall(int count, int in_place)
{
    int *out = numbers(count * size), *in = numbers(count * size);
    for (int i = 0; i < count * size; i++) (in_place ? in : out)[i] = value(rank, i);
    MPI_Alltoall(in_place ? MPI_IN_PLACE : out, count, MPI_INT, in, count, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < count * size; i++) SAME(in[i], value(i / count, rank * count + i % count));
    free(out);
    free(in);
}

static void reduce(int count, int root, int in_place)
{
    int *part = numbers(count), *sum = numbers(count);
    for (int i = 0; i < count; i++) part[i] = sum[i] = rank + i;
    MPI_Reduce(rank == root && in_place ? MPI_IN_PLACE : part, sum, count, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
    for (int i = 0; rank == root && i < count; i++) SAME(sum[i], size * (size - 1) / 2 + size * i);
    for (int i = 0; i < count; i++) sum[i] = part[i];
    MPI_Allreduce(in_place ? MPI_IN_PLACE : part, sum, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < count; i++) SAME(sum[i], size * (size - 1) / 2 + size * i);
    SAME(sum[count], 0x55555555);
    free(part);
    free(sum);
}

static void reduce_scatter_and_scan(int count)
{
    int *part = numbers(count * size), *sum = numbers(count);
    for (int i = 0; i < count * size; i++) part[i] = rank + i;
    MPI_Reduce_scatter_block(part, sum, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < count; i++) SAME(sum[i], size * (size - 1) / 2 + size * (rank * count + i));
    MPI_Scan(part, sum, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < count; i++) SAME(sum[i], rank * (rank + 1) / 2 + (rank + 1) * i);
    for (int i = 0; i < count; i++) sum[i] = -7;
    MPI_Exscan(part, sum, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < count; i++) SAME(sum[i], rank == 0 ? -7 : rank * (rank - 1) / 2 + rank * i);
    free(part);
    free(sum);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time); /* one clock for all processes of a machine */
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Nobody leaves a barrier before the last one has entered it. */
static void barrier(int late)
{
    double began = now(), entered, left, last, first;
    while (rank == late && now() < began + 0.002) {} /* the others are there before */
    entered = now();
    MPI_Barrier(MPI_COMM_WORLD);
    left = now();
    MPI_Allreduce(&entered, &last, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(&left, &first, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
    CHECK(last <= first);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    for (int c = 0; c < COUNTS; c++) {
        int count = counts[c];
        int roots[] = {0, size / 2, size - 1};
        for (int r = 0; r < 3; r++) {
            bcast(count, roots[r]);
            for (int in_place = 0; in_place < 2; in_place++) {
                if (count <= 2500) gather_and_scatter(count, roots[r], in_place);
                reduce(count, roots[r], in_place);
            }
        }
        for (int in_place = 0; in_place < 2 && count <= 2500; in_place++) {
            allgather(count, in_place);
            alltoall(count, in_place);
        }
        if (count <= 2500) reduce_scatter_and_scan(count);
        for (int r = 0; r < 3; r++) barrier(roots[r]);
    }
    return conclude();
}
