/* Every collective, blocking and not, with and without MPI_IN_PLACE, small and large counts; any number of ranks. */
#include "expect.h"
#include <stdlib.h>

static int rank, size;

static void last(void *in, void *inout, int *count, MPI_Datatype *datatype) {
    int bytes;
    (void) in, (void) inout;
    MPI_Type_size(*datatype, &bytes); /* a reduction may call MPI */
    EXPECT(bytes == (int) sizeof(int) && *count > 0);
    /* keeps inout: the value of the higher rank, since the operation does not commute */
}

static void wait(MPI_Request *request) {
    EXPECT(MPI_Wait(request, MPI_STATUS_IGNORE) == MPI_SUCCESS && *request == MPI_REQUEST_NULL);
}

static void rooted(int root) {
    int *all = malloc(sizeof(int) * size), *counts = malloc(sizeof(int) * size), *displs = malloc(sizeof(int) * size);
    int value = rank == root ? 1234 : 0, mine = rank + 1;
    MPI_Request request;
    MPI_Bcast(&value, 1, MPI_INT, root, MPI_COMM_WORLD);
    EXPECT(value == 1234);
    value = rank == root ? 77 : 0;
    MPI_Ibcast(&value, 1, MPI_INT, root, MPI_COMM_WORLD, &request);
    wait(&request);
    EXPECT(value == 77);

    MPI_Gather(&mine, 1, MPI_INT, all, rank == root, rank == root ? MPI_INT : MPI_DATATYPE_NULL, root, MPI_COMM_WORLD);
    for (int i = 0; i < size && rank == root; i++) EXPECT(all[i] == i + 1);
    if (rank == root) {
        all[root] = -1;
        MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 1, MPI_INT, root, MPI_COMM_WORLD);
        EXPECT(all[root] == -1 && all[(root + 1) % size] == (root + 1) % size + 1 - (size == 1) * (root + 2));
    } else {
        MPI_Gather(&mine, 1, MPI_INT, NULL, 0, MPI_DATATYPE_NULL, root, MPI_COMM_WORLD);
    }
    for (int i = 0; i < size; i++) {
        counts[i] = 1;
        displs[i] = size - 1 - i;
    }
    MPI_Igatherv(&mine, 1, MPI_INT, all, counts, displs, MPI_INT, root, MPI_COMM_WORLD, &request);
    wait(&request);
    for (int i = 0; i < size && rank == root; i++) EXPECT(all[size - 1 - i] == i + 1);

    for (int i = 0; i < size; i++) all[i] = 10 * i;
    MPI_Scatter(all, 1, MPI_INT, &value, 1, MPI_INT, root, MPI_COMM_WORLD);
    EXPECT(value == 10 * rank);
    MPI_Scatterv(all, counts, displs, MPI_INT, &value, 1, MPI_INT, root, MPI_COMM_WORLD);
    EXPECT(value == 10 * (size - 1 - rank));
    if (rank == root) MPI_Scatter(all, 1, MPI_INT, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, root, MPI_COMM_WORLD);
    else MPI_Scatter(NULL, 0, MPI_DATATYPE_NULL, &value, 1, MPI_INT, root, MPI_COMM_WORLD);
    if (rank != root) EXPECT(value == 10 * rank);

    MPI_Reduce(&mine, &value, 1, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
    if (rank == root) EXPECT(value == size * (size + 1) / 2);
    value = mine;
    MPI_Reduce(rank == root ? MPI_IN_PLACE : &value, &value, 1, MPI_INT, MPI_MAX, root, MPI_COMM_WORLD);
    if (rank == root) EXPECT(value == size);
    free(all), free(counts), free(displs);
}

static void exchange(void) {
    int *from = malloc(sizeof(int) * size), *to = malloc(sizeof(int) * size);
    int *counts = malloc(sizeof(int) * size), *displs = malloc(sizeof(int) * size), *bytes = malloc(sizeof(int) * size);
    MPI_Datatype *types = malloc(sizeof(MPI_Datatype) * size);
    MPI_Count *large = malloc(sizeof(MPI_Count) * size);
    MPI_Aint *places = malloc(sizeof(MPI_Aint) * size);
    MPI_Request request;
    for (int i = 0; i < size; i++) {
        counts[i] = 1, large[i] = 1, types[i] = MPI_INT;
        displs[i] = size - 1 - i, places[i] = size - 1 - i;
        bytes[i] = i * (int) sizeof(int);
        from[i] = 100 * rank + i;
    }
    MPI_Allgather(&rank, 1, MPI_INT, to, 1, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++) EXPECT(to[i] == i);
    to[rank] = -rank;
    MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, to, 1, MPI_INT, MPI_COMM_WORLD, &request);
    wait(&request);
    for (int i = 0; i < size; i++) EXPECT(to[i] == -i);
    MPI_Allgatherv_c(&rank, 1, MPI_INT, to, large, places, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++) EXPECT(to[size - 1 - i] == i);
    MPI_Alltoall(from, 1, MPI_INT, to, 1, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++) EXPECT(to[i] == 100 * i + rank);
    MPI_Alltoallv(from, counts, displs, MPI_INT, to, counts, displs, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++) EXPECT(to[size - 1 - i] == 100 * i + size - 1 - rank);
    MPI_Ialltoallw(from, counts, bytes, types, to, counts, bytes, types, MPI_COMM_WORLD, &request);
    wait(&request);
    for (int i = 0; i < size; i++) EXPECT(to[i] == 100 * i + rank);
    for (int i = 0; i < size; i++) to[i] = from[i];
    MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, to, counts, displs, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++) EXPECT(to[size - 1 - i] == 100 * i + size - 1 - rank);
    free(from), free(to), free(counts), free(displs), free(bytes), free(types), free(large), free(places);
}

static void reductions(void) {
    int value = rank + 1, sum = 0, expected = size * (size + 1) / 2;
    int *blocks = malloc(sizeof(int) * size), *counts = malloc(sizeof(int) * size);
    struct { double value; int index; } pair = {(rank * 7) % 5, rank}, least;
    MPI_Op op;
    MPI_Request request;
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    EXPECT(sum == expected);
    sum = value;
    MPI_Iallreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    wait(&request);
    EXPECT(sum == expected);
    MPI_Allreduce(&pair, &least, 1, MPI_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD);
    EXPECT(least.value == 0 && least.index == 0);
    MPI_Scan(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    EXPECT(sum == (rank + 1) * (rank + 2) / 2);
    sum = -1;
    MPI_Exscan(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    EXPECT(sum == (rank ? rank * (rank + 1) / 2 : -1));
    for (int i = 0; i < size; i++) blocks[i] = i + rank, counts[i] = 1;
    MPI_Reduce_scatter_block(blocks, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    EXPECT(sum == size * rank + size * (size - 1) / 2);
    MPI_Ireduce_scatter(blocks, &sum, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    wait(&request);
    EXPECT(sum == size * rank + size * (size - 1) / 2);
    MPI_Op_create(last, 0, &op);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, op, MPI_COMM_WORLD);
    EXPECT(sum == size - 1);
    MPI_Op_free(&op);
    EXPECT(op == MPI_OP_NULL);
    sum = 5;
    MPI_Reduce_local(&value, &sum, 1, MPI_INT, MPI_PROD);
    EXPECT(sum == 5 * (rank + 1));
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    wait(&request);
    free(blocks), free(counts);
}

static void communicators(void) {
    MPI_Comm copy, half, node, sub, later;
    MPI_Group group, members;
    MPI_Request request;
    int number, key, flag, first = 0, value = 7, *found;
    MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, &value);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_get_attr(copy, key, &found, &flag);
    EXPECT(flag && found == &value);
    MPI_Comm_compare(MPI_COMM_WORLD, copy, &number);
    EXPECT(number == MPI_CONGRUENT);
    EXPECT(MPI_Comm_fromint(MPI_Comm_toint(copy)) == copy);
    MPI_Comm_split(copy, rank % 2, -rank, &half);
    MPI_Comm_size(half, &number);
    EXPECT(number == (size + 1 - rank % 2) / 2);
    MPI_Allreduce(MPI_IN_PLACE, &number, 1, MPI_INT, MPI_MAX, half);
    MPI_Comm_free(&half);
    EXPECT(half == MPI_COMM_NULL);
    MPI_Comm_split(copy, rank == 0 ? MPI_UNDEFINED : 1, 0, &half);
    EXPECT((half == MPI_COMM_NULL) == (rank == 0));
    if (half != MPI_COMM_NULL) MPI_Comm_free(&half);
    MPI_Comm_split_type(copy, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &number);
    EXPECT(number == size);
    MPI_Comm_free(&node);
    MPI_Comm_group(copy, &group);
    MPI_Group_incl(group, 1, &first, &members);
    MPI_Comm_create(copy, members, &sub);
    EXPECT((sub == MPI_COMM_NULL) == (rank != 0));
    if (rank == 0) {
        MPI_Comm_free(&sub);
        MPI_Comm_create_group(copy, members, 5, &sub);
        MPI_Comm_size(sub, &number);
        EXPECT(number == 1);
        MPI_Comm_free(&sub);
    }
    MPI_Comm_idup(copy, &later, &request);
    wait(&request);
    MPI_Barrier(later);
    MPI_Comm_free(&later);
    MPI_Group_free(&group);
    MPI_Group_free(&members);
    MPI_Comm_free(&copy);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
    MPI_Comm_free_keyval(&key);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int root = 0; root < size; root++) rooted(root);
    exchange();
    reductions();
    communicators();
    MPI_Finalize();
    return failures;
}
