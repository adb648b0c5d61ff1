/* Collectives whose parts differ: gatherv, scatterv, allgatherv, alltoallv, alltoallw, reduce_scatter; with gaps between the
 * parts that nobody touches, and with parts of nothing. */
#include "check.h"

static int scale;
static int *counts, *places, total; /* the part of each rank, gaps of one number before each */

static int part_of(int r) { return (r % 3) * scale + (r % 2); }
static int value(int from, int i) { return from * 1000003 + i * 7; }

static void lay_out(void)
{
    total = 0;
    for (int r = 0; r < size; r++) {
        counts[r] = part_of(r);
        places[r] = total + 1;
        total += counts[r] + 1;
    }
}

static int *blank(int count)
{
    int *data = malloc((count + 1) * sizeof *data);
    for (int i = 0; i <= count; i++) data[i] = -99;
    return data;
}

static void check_whole(const int *whole, int plus)
{
    for (int r = 0; r < size; r++) {
        SAME(whole[places[r] - 1], -99);
        for (int i = 0; i < counts[r]; i++) SAME(whole[places[r] + i], value(r, i) + plus);
    }
    SAME(whole[total], -99);
}

static void rooted(int root)
{
    int mine = counts[rank], *part = blank(mine), *whole = blank(total);
    for (int i = 0; i < mine; i++) part[i] = value(rank, i);
    MPI_Gatherv(part, mine, MPI_INT, whole, counts, places, MPI_INT, root, MPI_COMM_WORLD);
    if (rank == root) check_whole(whole, 0);
    for (int i = 0; i < total; i++) whole[i] += 4;
    for (int i = 0; i < mine; i++) part[i] = -1;
    MPI_Scatterv(whole, counts, places, MPI_INT, part, mine, MPI_INT, root, MPI_COMM_WORLD);
    for (int i = 0; i < mine; i++) SAME(part[i], value(rank, i) + 4);
    SAME(part[mine], -99);
    free(part);
    free(whole);
}

static void everybody(int in_place)
{
    int mine = counts[rank], *part = blank(mine), *whole = blank(total);
    for (int i = 0; i < mine; i++) part[i] = value(rank, i);
    if (in_place) memcpy(whole + places[rank], part, mine * sizeof *part);
    MPI_Allgatherv(in_place ? MPI_IN_PLACE : part, mine, MPI_INT, whole, counts, places, MPI_INT, MPI_COMM_WORLD);
    check_whole(whole, 0);
    free(part);
    free(whole);
}

/* Rank r sends part_of(r + to) numbers to rank `to`, each in a gap of its own. */
static void exchange(int with_types)
{
    int out_count[256], in_count[256], out_place[256], in_place[256], outs = 0, ins = 0;
    MPI_Datatype types[256];
    int unit = with_types ? (int)sizeof(int) : 1;
    for (int r = 0; r < size; r++) {
        out_count[r] = part_of(rank + r);
        in_count[r] = part_of(r + rank);
        out_place[r] = (outs + 1) * unit;
        in_place[r] = (ins + 1) * unit;
        outs += out_count[r] + 1;
        ins += in_count[r] + 1;
        types[r] = MPI_INT;
    }
    int *out = blank(outs), *in = blank(ins);
    for (int r = 0; r < size; r++)
        for (int i = 0; i < out_count[r]; i++) out[out_place[r] / unit + i] = value(rank, i) + r;
    if (with_types)
        MPI_Alltoallw(out, out_count, out_place, types, in, in_count, in_place, types, MPI_COMM_WORLD);
    else
        MPI_Alltoallv(out, out_count, out_place, MPI_INT, in, in_count, in_place, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < size; r++) {
        SAME(in[in_place[r] / unit - 1], -99);
        for (int i = 0; i < in_count[r]; i++) SAME(in[in_place[r] / unit + i], value(r, i) + rank);
    }
    free(out);
    free(in);
}

static void reduce_scatter(void)
{
    int all = 0, before = 0;
    for (int r = 0; r < size; r++) {
        if (r == rank) before = all;
        all += counts[r];
    }
    int *part = blank(all), *sum = blank(counts[rank]);
    for (int i = 0; i < all; i++) part[i] = rank + i;
    MPI_Reduce_scatter(part, sum, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < counts[rank]; i++) SAME(sum[i], size * (size - 1) / 2 + size * (before + i));
    SAME(sum[counts[rank]], -99);
    free(part);
    free(sum);
}

int main(int argc, char **argv)
{
    static const int scales[] = {0, 1, 40, 3000};
    begin(&argc, &argv);
    counts = malloc(size * sizeof *counts);
    places = malloc(size * sizeof *places);
    for (int s = 0; s < 4; s++) {
        scale = scales[s];
        lay_out();
        rooted(0);
        rooted(size - 1);
        everybody(0);
        everybody(1);
        exchange(0);
        exchange(1);
        reduce_scatter();
    }
    free(counts);
    free(places);
    return conclude();
}
