/* Communicators: split, duplicated, created, by type; messages of one are not seen by another. */
#include "check.h"

static int sum_over(MPI_Comm comm, int number)
{
    int sum;
    MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_SUM, comm);
    return sum;
}

static void split(void)
{
    MPI_Comm part, backwards, nothing;
    int r, n, expected = 0, members = 0;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 3, 0, &part);
    for (int other = rank % 3; other < size; other += 3) members++, expected += other;
    MPI_Comm_size(part, &n);
    MPI_Comm_rank(part, &r);
    SAME(n, members);
    SAME(r, rank / 3);
    SAME(sum_over(part, rank), expected);

    /* The key decides on the order. */
    MPI_Comm_split(part, 7, -rank, &backwards);
    MPI_Comm_rank(backwards, &r);
    SAME(r, members - 1 - rank / 3);
    SAME(sum_over(backwards, rank), expected);
    MPI_Comm_free(&backwards);

    MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 1, 0, &nothing);
    CHECK((nothing == MPI_COMM_NULL) == (rank == 0));
    if (rank) {
        MPI_Comm_size(nothing, &n);
        SAME(n, size - 1);
        SAME(sum_over(nothing, 1), size - 1);
        MPI_Comm_free(&nothing);
    }
    MPI_Comm_free(&part);
    CHECK(part == MPI_COMM_NULL);
}

/* A message of the copy is not received on the original, though all else is equal. */
static void separate(void)
{
    MPI_Comm copy, later;
    MPI_Request request, receive[2];
    int next = (rank + 1) % size, previous = (rank + size - 1) % size, result, in[2] = {0, 0}, out[2] = {1, 2};
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_compare(copy, MPI_COMM_WORLD, &result);
    SAME(result, MPI_CONGRUENT);
    MPI_Comm_compare(copy, copy, &result);
    SAME(result, MPI_IDENT);
    MPI_Irecv(&in[0], 1, MPI_INT, previous, 0, MPI_COMM_WORLD, &receive[0]);
    MPI_Irecv(&in[1], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, copy, &receive[1]);
    MPI_Send(&out[1], 1, MPI_INT, next, 0, copy);
    MPI_Send(&out[0], 1, MPI_INT, next, 0, MPI_COMM_WORLD);
    MPI_Waitall(2, receive, MPI_STATUSES_IGNORE);
    SAME(in[0], 1);
    SAME(in[1], 2);

    /* Collectives do not meet messages of the program on the same communicator. */
    MPI_Irecv(&in[0], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, copy, &receive[0]);
    SAME(sum_over(copy, rank), size * (size - 1) / 2);
    MPI_Barrier(copy);
    MPI_Send(&out[1], 1, MPI_INT, next, 3, copy);
    MPI_Wait(&receive[0], MPI_STATUS_IGNORE);
    SAME(in[0], 2);

    MPI_Comm_idup(copy, &later, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    SAME(sum_over(later, 2), 2 * size);
    MPI_Comm_free(&later);
    MPI_Comm_free(&copy);
}

static void created(void)
{
    MPI_Group all, even;
    MPI_Comm comm;
    int range[1][3] = {{0, size - 1, 2}}, n;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_range_incl(all, 1, range, &even);
    MPI_Comm_create(MPI_COMM_WORLD, even, &comm);
    CHECK((comm == MPI_COMM_NULL) == (rank % 2 == 1));
    if (rank % 2 == 0) {
        SAME(sum_over(comm, 1), (size + 1) / 2);
        MPI_Comm_free(&comm);
        /* Called by the members alone. */
        MPI_Comm_create_group(MPI_COMM_WORLD, even, 17, &comm);
        MPI_Comm_size(comm, &n);
        SAME(n, (size + 1) / 2);
        SAME(sum_over(comm, 3), 3 * n);
        MPI_Comm_free(&comm);
    }
    MPI_Group_free(&even);
    MPI_Group_free(&all);

    /* All ranks here share memory. */
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm);
    MPI_Comm_size(comm, &n);
    SAME(n, size);
    MPI_Comm_free(&comm);
}

/* Many communicators come and go. */
static void many(void)
{
    MPI_Comm comms[40];
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 40; i++) MPI_Comm_split(MPI_COMM_WORLD, (rank + i) % 2, rank, &comms[i]);
        for (int i = 39; i >= 0; i--) {
            int n;
            MPI_Comm_size(comms[i], &n);
            SAME(sum_over(comms[i], 1), n);
            MPI_Comm_free(&comms[i]);
        }
    }
}

int main(int argc, char **argv)
{
    char name[MPI_MAX_OBJECT_NAME];
    int length;
    begin(&argc, &argv);
    split();
    separate();
    created();
    many();
    MPI_Comm_get_name(MPI_COMM_WORLD, name, &length);
    CHECK(!strcmp(name, "MPI_COMM_WORLD"));
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_get_name(copy, name, &length);
    SAME(length, 0); /* names are not copied */
    MPI_Comm_set_name(copy, "the copy");
    MPI_Comm_get_name(copy, name, &length);
    CHECK(!strcmp(name, "the copy") && length == 8);
    MPI_Comm_free(&copy);
    return conclude();
}
