/* Groups: made, combined, compared and translated, against sets computed here. */
#include "check.h"

static MPI_Group all;

/* Checks members and their order. */
static void check(MPI_Group group, const int *members, int count)
{
    int n, places[64], found[64];
    MPI_Group_size(group, &n);
    SAME(n, count);
    for (int i = 0; i < count; i++) places[i] = i;
    MPI_Group_translate_ranks(group, count, places, all, found);
    for (int i = 0; i < count; i++) SAME(found[i], members[i]);
}

static void combined(void)
{
    int even[64], low[64], evens = 0, lows = 0, expected[64] = {0}, n;
    MPI_Group a, b, result;
    for (int r = 0; r < size; r += 2) even[evens++] = r;
    for (int r = size / 2; r >= 0; r--) low[lows++] = r; /* backwards: the order counts */
    MPI_Group_incl(all, evens, even, &a);
    MPI_Group_incl(all, lows, low, &b);
    check(a, even, evens);
    check(b, low, lows);

    n = 0;
    for (int i = 0; i < evens; i++) expected[n++] = even[i];
    for (int i = 0; i < lows; i++)
        if (low[i] % 2) expected[n++] = low[i];
    MPI_Group_union(a, b, &result);
    check(result, expected, n);
    MPI_Group_free(&result);

    n = 0;
    for (int i = 0; i < evens; i++)
        if (even[i] <= size / 2) expected[n++] = even[i];
    MPI_Group_intersection(a, b, &result);
    check(result, expected, n);
    MPI_Group_free(&result);

    n = 0;
    for (int i = 0; i < evens; i++)
        if (even[i] > size / 2) expected[n++] = even[i];
    MPI_Group_difference(a, b, &result);
    check(result, expected, n);
    if (n == 0) CHECK(result == MPI_GROUP_EMPTY);
    if (result != MPI_GROUP_EMPTY) MPI_Group_free(&result);

    n = 0;
    for (int r = 1; r < size; r += 2) expected[n++] = r;
    MPI_Group_excl(all, evens, even, &result);
    check(result, expected, n);
    if (result != MPI_GROUP_EMPTY) MPI_Group_free(&result);
    MPI_Group_free(&a);
    MPI_Group_free(&b);
}

static void compared(void)
{
    int backwards[64], result, r;
    MPI_Group same, other, one;
    for (int i = 0; i < size; i++) backwards[i] = size - 1 - i;
    MPI_Comm_group(MPI_COMM_WORLD, &same);
    MPI_Group_incl(all, size, backwards, &other);
    MPI_Group_incl(all, 1, backwards, &one);
    MPI_Group_compare(all, same, &result);
    SAME(result, MPI_IDENT);
    MPI_Group_compare(all, other, &result);
    SAME(result, size == 1 ? MPI_IDENT : MPI_SIMILAR);
    MPI_Group_compare(all, one, &result);
    SAME(result, size == 1 ? MPI_IDENT : MPI_UNEQUAL);
    MPI_Group_rank(other, &r);
    SAME(r, size - 1 - rank);
    MPI_Group_rank(one, &r);
    SAME(r, rank == size - 1 ? 0 : MPI_UNDEFINED);
    int null = MPI_PROC_NULL, found = 0;
    MPI_Group_translate_ranks(all, 1, &null, one, &found);
    SAME(found, MPI_PROC_NULL);
    MPI_Group_free(&same);
    MPI_Group_free(&other);
    MPI_Group_free(&one);
}

static void ranges(void)
{
    MPI_Group group;
    int last = size - 1, down[1][3] = {{last, 0, -2}}, expected[64], n = 0;
    for (int r = last; r >= 0; r -= 2) expected[n++] = r;
    MPI_Group_range_incl(all, 1, down, &group);
    check(group, expected, n);
    MPI_Group_free(&group);
    n = 0;
    for (int r = 0; r < size; r++)
        if ((last - r) % 2) expected[n++] = r;
    MPI_Group_range_excl(all, 1, down, &group);
    check(group, expected, n);
    if (group != MPI_GROUP_EMPTY) MPI_Group_free(&group);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    combined();
    compared();
    ranges();
    MPI_Group_free(&all);
    CHECK(all == MPI_GROUP_NULL);
    return conclude();
}
