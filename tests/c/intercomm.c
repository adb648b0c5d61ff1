/* Intercommunicators: two groups that talk to each other. The lower half of the ranks is one side, the rest the other. */
#include "check.h"

static int lower, mine, theirs, me; /* my side is the lower one; sizes of both sides; my rank in mine */

static MPI_Comm connect(void)
{
    MPI_Comm half, inter;
    MPI_Comm_split(MPI_COMM_WORLD, lower, rank, &half);
    /* The other communicator counts at the leader only. */
    MPI_Comm_rank(half, &me);
    MPI_Intercomm_create(half, 0, me == 0 ? MPI_COMM_WORLD : MPI_COMM_NULL, lower ? size / 2 : 0, 9, &inter);
    MPI_Comm_free(&half);
    return inter;
}

/* The rank in MPI_COMM_WORLD of a rank of the other side. */
static int there(int r)
{
    return lower ? size / 2 + r : r;
}

static void shape(MPI_Comm inter)
{
    int flag, n, r, result;
    MPI_Group remote, local, world, expected;
    MPI_Comm_test_inter(inter, &flag);
    CHECK(flag);
    MPI_Comm_test_inter(MPI_COMM_WORLD, &flag);
    CHECK(!flag);
    MPI_Comm_size(inter, &n);
    SAME(n, mine);
    MPI_Comm_remote_size(inter, &n);
    SAME(n, theirs);
    MPI_Comm_rank(inter, &r);
    SAME(r, me);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Comm_group(inter, &local);
    MPI_Comm_remote_group(inter, &remote);
    int range[1][3] = {{there(0), there(theirs - 1), 1}};
    MPI_Group_range_incl(world, 1, range, &expected);
    MPI_Group_compare(remote, expected, &result);
    SAME(result, MPI_IDENT);
    MPI_Group_free(&expected);
    MPI_Group_intersection(local, remote, &expected);
    CHECK(expected == MPI_GROUP_EMPTY);
    MPI_Group_free(&world);
    MPI_Group_free(&local);
    MPI_Group_free(&remote);
}

static void messages(MPI_Comm inter)
{
    MPI_Request request;
    MPI_Status status;
    int out = rank, in, flag;
    /* To the partner and back, under the other side's ranks; the last of the larger side have the last as partner. */
    int partner = me < theirs ? me : theirs - 1;
    MPI_Isend(&out, 1, MPI_INT, partner, 3, inter, &request);
    int expected = me == mine - 1 ? (theirs > mine ? theirs - mine + 1 : 1) : 1;
    if (me >= theirs) expected = 0;
    for (int i = 0; i < expected; i++) {
        MPI_Probe(MPI_ANY_SOURCE, 3, inter, &status);
        int from = status.MPI_SOURCE;
        MPI_Recv(&in, 1, MPI_INT, from, 3, inter, &status);
        SAME(in, there(from));
        SAME(status.MPI_SOURCE, from);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, inter, &flag, &status);
    MPI_Barrier(inter);
    CHECK(!flag);
    if (me < theirs && me < mine) {
        in = -1;
        MPI_Sendrecv(&rank, 1, MPI_INT, me < theirs ? me : MPI_PROC_NULL, 4, &in, 1, MPI_INT, me, 4, inter, &status);
        SAME(in, there(me));
    }
}

/* Each rooted collective, with a root on either side. */
static void rooted(MPI_Comm inter)
{
    for (int side = 0; side < 2; side++) {
        int at = side == lower, members = at ? mine : theirs, chosen = members - 1;
        int root = !at ? chosen : me == chosen ? MPI_ROOT : MPI_PROC_NULL;
        int root_rank = at ? (lower ? chosen : size / 2 + chosen) : there(chosen);
        int n = at ? theirs : mine;
        int value[3] = {rank, rank + 1, rank + 2}, *all = calloc(3 * (size_t)size, sizeof *all);
        if (root == MPI_PROC_NULL) {
            /* Nothing counts beside the root but the communicator and the root. */
            MPI_Bcast(NULL, 0, MPI_DATATYPE_NULL, root, inter);
            MPI_Reduce(NULL, NULL, 0, MPI_DATATYPE_NULL, MPI_OP_NULL, root, inter);
            MPI_Gather(NULL, 0, MPI_DATATYPE_NULL, NULL, 0, MPI_DATATYPE_NULL, root, inter);
            MPI_Gatherv(NULL, 0, MPI_DATATYPE_NULL, NULL, NULL, NULL, MPI_DATATYPE_NULL, root, inter);
            MPI_Scatter(NULL, 0, MPI_DATATYPE_NULL, NULL, 0, MPI_DATATYPE_NULL, root, inter);
            MPI_Scatterv(NULL, NULL, NULL, MPI_DATATYPE_NULL, NULL, 0, MPI_DATATYPE_NULL, root, inter);
        } else if (root == MPI_ROOT) {
            int sum = 0, *counts = malloc(sizeof *counts * (size_t)n), *starts = malloc(sizeof *starts * (size_t)n);
            MPI_Bcast(value, 3, MPI_INT, root, inter);
            MPI_Reduce(NULL, &sum, 1, MPI_INT, MPI_SUM, root, inter);
            int expected = 0;
            for (int r = 0; r < n; r++) expected += there(r);
            SAME(sum, expected);
            MPI_Gather(NULL, 0, MPI_DATATYPE_NULL, all, 2, MPI_INT, root, inter);
            for (int r = 0; r < n; r++) SAME(all[2 * r + 1], there(r) + 1);
            for (int r = 0; r < n; r++) counts[r] = r % 3, starts[r] = 3 * r;
            MPI_Gatherv(NULL, 0, MPI_DATATYPE_NULL, all, counts, starts, MPI_INT, root, inter);
            for (int r = 0; r < n; r++)
                for (int i = 0; i < counts[r]; i++) SAME(all[3 * r + i], there(r) + i);
            for (int i = 0; i < 3 * n; i++) all[i] = 1000 + i;
            MPI_Scatter(all, 3, MPI_INT, NULL, 0, MPI_DATATYPE_NULL, root, inter);
            MPI_Scatterv(all, counts, starts, MPI_INT, NULL, 0, MPI_DATATYPE_NULL, root, inter);
            free(counts);
            free(starts);
        } else {
            int got[3] = {-1, -1, -1};
            MPI_Bcast(got, 3, MPI_INT, root, inter);
            SAME(got[2], root_rank + 2);
            MPI_Reduce(&rank, NULL, 1, MPI_INT, MPI_SUM, root, inter);
            MPI_Gather(value, 2, MPI_INT, NULL, 0, MPI_DATATYPE_NULL, root, inter);
            MPI_Gatherv(value, me % 3, MPI_INT, NULL, NULL, NULL, MPI_DATATYPE_NULL, root, inter);
            MPI_Scatter(NULL, 0, MPI_DATATYPE_NULL, got, 3, MPI_INT, root, inter);
            for (int i = 0; i < 3; i++) SAME(got[i], 1000 + 3 * me + i);
            got[0] = got[1] = -1;
            MPI_Scatterv(NULL, NULL, NULL, MPI_DATATYPE_NULL, got, me % 3, MPI_INT, root, inter);
            for (int i = 0; i < me % 3; i++) SAME(got[i], 1000 + 3 * me + i);
        }
        free(all);
    }
}

/* Those in which both sides give and get, in the three forms. */
/* The root of a reduction gives nothing, and those beside it neither give nor take. */
static void without_buffers(MPI_Comm inter)
{
    enum { LENGTH = 5000 };
    static int given[LENGTH], sums[LENGTH];
    int root = !lower ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
    MPI_Request request;
    for (int i = 0; i < LENGTH; i++) given[i] = i;
    MPI_Ireduce(lower ? NULL : given, rank == 0 ? sums : NULL, LENGTH, MPI_INT, MPI_SUM, root, inter, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; rank == 0 && i < LENGTH; i += 499) SAME(sums[i], theirs * i);
}

static void symmetric(MPI_Comm inter)
{
    int expected = 0, sum, *from = malloc(sizeof *from * (size_t)size), *to = malloc(sizeof *to * (size_t)size);
    int *counts = malloc(sizeof *counts * (size_t)size), *starts = malloc(sizeof *starts * (size_t)size);
    MPI_Datatype *types = malloc(sizeof *types * (size_t)size);
    MPI_Request request;
    for (int r = 0; r < theirs; r++) expected += there(r);
    sum = -1;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, inter);
    SAME(sum, expected);
    sum = -1;
    MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, inter, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    SAME(sum, expected);
    MPI_Allreduce_init(&rank, &sum, 1, MPI_INT, MPI_SUM, inter, MPI_INFO_NULL, &request);
    for (int round = 0; round < 3; round++) {
        sum = -1;
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        SAME(sum, expected);
    }
    MPI_Request_free(&request);

    MPI_Allgather(&rank, 1, MPI_INT, from, 1, MPI_INT, inter);
    for (int r = 0; r < theirs; r++) SAME(from[r], there(r));
    /* What lies behind the room for theirs is no block of it, even where one of ours would be. */
    int me, *own = &to[0];
    MPI_Comm_rank(inter, &me);
    if (me >= theirs) own = &from[me];
    *own = rank;
    MPI_Allgather(own, 1, MPI_INT, from, 1, MPI_INT, inter);
    for (int r = 0; r < theirs; r++) SAME(from[r], there(r));
    for (int r = 0; r < theirs; r++) counts[r] = 1, starts[r] = theirs - 1 - r, types[r] = MPI_INT, to[r] = 100 * rank + r;
    MPI_Allgatherv(&rank, 1, MPI_INT, from, counts, starts, MPI_INT, inter);
    for (int r = 0; r < theirs; r++) SAME(from[theirs - 1 - r], there(r));
    MPI_Alltoall(to, 1, MPI_INT, from, 1, MPI_INT, inter);
    for (int r = 0; r < theirs; r++) SAME(from[r], 100 * there(r) + me);
    MPI_Ialltoallv(to, counts, starts, MPI_INT, from, counts, starts, MPI_INT, inter, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int r = 0; r < theirs; r++) SAME(from[theirs - 1 - r], 100 * there(r) + mine - 1 - me);
    for (int r = 0; r < theirs; r++) starts[r] = (int)sizeof(int) * r;
    MPI_Alltoallw(to, counts, starts, types, from, counts, starts, types, inter);
    for (int r = 0; r < theirs; r++) SAME(from[r], 100 * there(r) + me);

    /* The vectors of both sides have the same length: a block of `theirs` for each of mine. */
    int *long_ = malloc(sizeof *long_ * (size_t)(mine * theirs)), *block = malloc(sizeof *block * (size_t)(2 * theirs));
    for (int i = 0; i < mine * theirs; i++) long_[i] = i + rank;
    MPI_Reduce_scatter_block(long_, block, theirs, MPI_INT, MPI_SUM, inter);
    for (int i = 0; i < theirs; i++) SAME(block[i], (me * theirs + i) * theirs + expected);
    for (int r = 0; r < mine; r++) counts[r] = theirs;
    if (mine > 1) counts[0] = 0, counts[1] = 2 * theirs;
    MPI_Reduce_scatter(long_, block, counts, MPI_INT, MPI_SUM, inter);
    int first = mine > 1 && me == 1 ? 0 : me * theirs;
    for (int i = 0; i < counts[me]; i++) SAME(block[i], (first + i) * theirs + expected);
    free(long_), free(block), free(from), free(to), free(counts), free(starts), free(types);
}

static int copies, deletions;

static int copied(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)key, (void)extra;
    *(void **)out = in;
    copies++;
    return *flag = 1, MPI_SUCCESS;
}

static int deleted(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)value, (void)extra;
    return deletions++, MPI_SUCCESS;
}

static void children(MPI_Comm inter)
{
    MPI_Comm copy, later, part, merged, sub;
    MPI_Request request;
    int result, n, flag, key, value = 7, *found;
    char name[MPI_MAX_OBJECT_NAME];
    MPI_Comm_create_keyval(copied, deleted, &key, NULL);
    MPI_Comm_set_attr(inter, key, &value);
    MPI_Comm_set_name(inter, "across");
    MPI_Comm_dup(inter, &copy);
    MPI_Comm_get_name(inter, name, &n);
    CHECK(strcmp(name, "across") == 0);
    MPI_Comm_get_attr(copy, key, &found, &flag);
    CHECK(flag && *found == 7 && copies == 1);
    MPI_Comm_delete_attr(inter, key);
    MPI_Comm_compare(inter, copy, &result);
    SAME(result, MPI_CONGRUENT);
    MPI_Comm_compare(inter, MPI_COMM_WORLD, &result);
    SAME(result, MPI_UNEQUAL);
    MPI_Comm_idup(inter, &later, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    symmetric(later);
    MPI_Comm_free(&later);
    MPI_Comm_disconnect(&copy);
    CHECK(copy == MPI_COMM_NULL);
    SAME(deletions, 2);
    MPI_Comm_free_keyval(&key);

    for (int high = 0; high < 2; high++) {
        /* The lower side asks to be behind the other, and then to be in front. */
        MPI_Intercomm_merge(inter, lower ? !high : high, &merged);
        MPI_Comm_test_inter(merged, &flag);
        CHECK(!flag);
        MPI_Comm_size(merged, &n);
        SAME(n, size);
        MPI_Comm_rank(merged, &n);
        SAME(n, high == !lower ? me + theirs : me);
        MPI_Allreduce(&rank, &n, 1, MPI_INT, MPI_SUM, merged);
        SAME(n, size * (size - 1) / 2);
        MPI_Comm_free(&merged);
    }

    MPI_Comm_split(inter, me == 0, -me, &part);
    if (me == 0 || (mine > 1 && theirs > 1)) {
        MPI_Comm_remote_size(part, &n);
        SAME(n, me == 0 ? 1 : theirs - 1);
        MPI_Barrier(part);
        MPI_Comm_free(&part);
    } else {
        CHECK(part == MPI_COMM_NULL); /* nobody on the other side */
    }

    MPI_Group group, first;
    int zero = 0;
    MPI_Comm_group(inter, &group);
    MPI_Group_incl(group, 1, &zero, &first);
    MPI_Comm_create(inter, first, &sub);
    CHECK((sub == MPI_COMM_NULL) == (me > 0));
    if (me == 0) {
        n = -1;
        MPI_Sendrecv(&rank, 1, MPI_INT, 0, 0, &n, 1, MPI_INT, 0, 0, sub, MPI_STATUS_IGNORE);
        SAME(n, there(0));
        MPI_Comm_free(&sub);
    }
    MPI_Group_free(&group);
    MPI_Group_free(&first);
}

static void from_groups(void)
{
    MPI_Group world, half, other;
    MPI_Comm inter, intra;
    int parts[2][3] = {{0, size / 2 - 1, 1}, {size / 2, size - 1, 1}}, n;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_range_incl(world, 1, &parts[!lower], &half);
    MPI_Group_range_incl(world, 1, &parts[lower], &other);
    MPI_Intercomm_create_from_groups(half, 0, me == 0 ? other : MPI_GROUP_NULL, 0, "test://across", MPI_INFO_NULL,
                                     MPI_ERRORS_RETURN, &inter);
    MPI_Comm_remote_size(inter, &n);
    SAME(n, theirs);
    symmetric(inter);
    SAME(MPI_Bcast(&n, 1, MPI_INT, size, inter), MPI_ERR_ROOT);
    MPI_Comm_free(&inter);
    MPI_Comm_create_from_group(half, "test://half", MPI_INFO_NULL, MPI_ERRORS_RETURN, &intra);
    MPI_Comm_size(intra, &n);
    SAME(n, mine);
    MPI_Comm_free(&intra);
    MPI_Group_free(&world), MPI_Group_free(&half), MPI_Group_free(&other);
}

static int class_of(int code)
{
    int class;
    MPI_Error_class(code, &class);
    return class;
}

static void wrong(MPI_Comm inter)
{
    int n = 0, all[64];
    char text[MPI_MAX_ERROR_STRING];
    MPI_Comm none;
    MPI_Group group;
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int code = MPI_Send(&n, 1, MPI_INT, theirs, 0, inter);
    SAME(class_of(code), MPI_ERR_RANK);
    MPI_Error_string(code, text, &n);
    CHECK(strstr(text, "of the remote group"));
    SAME(class_of(MPI_Bcast(&n, 1, MPI_INT, theirs, inter)), MPI_ERR_ROOT);
    SAME(class_of(MPI_Bcast(&n, 1, MPI_INT, MPI_ROOT, MPI_COMM_WORLD)), MPI_ERR_ROOT);
    SAME(class_of(MPI_Scan(&rank, &n, 1, MPI_INT, MPI_SUM, inter)), MPI_ERR_COMM);
    SAME(class_of(MPI_Exscan(&rank, &n, 1, MPI_INT, MPI_SUM, inter)), MPI_ERR_COMM);
    SAME(class_of(MPI_Allreduce(MPI_IN_PLACE, &n, 1, MPI_INT, MPI_SUM, inter)), MPI_ERR_BUFFER);
    SAME(class_of(MPI_Neighbor_allgather(&n, 1, MPI_INT, all, 1, MPI_INT, inter)), MPI_ERR_TOPOLOGY);
    SAME(class_of(MPI_Comm_remote_size(MPI_COMM_WORLD, &n)), MPI_ERR_COMM);
    SAME(class_of(MPI_Comm_remote_group(MPI_COMM_WORLD, &group)), MPI_ERR_COMM);
    SAME(class_of(MPI_Intercomm_merge(MPI_COMM_WORLD, 0, &none)), MPI_ERR_COMM);
    SAME(class_of(MPI_Intercomm_create(inter, 0, MPI_COMM_WORLD, 0, 0, &none)), MPI_ERR_COMM);
    SAME(class_of(MPI_Intercomm_create(MPI_COMM_WORLD, size, MPI_COMM_WORLD, 0, 0, &none)), MPI_ERR_RANK);
    /* What is wrong at the leader only is an error at all. */
    SAME(class_of(MPI_Intercomm_create(MPI_COMM_WORLD, 0, MPI_COMM_NULL, 0, 0, &none)), MPI_ERR_COMM);
    SAME(class_of(MPI_Intercomm_create(MPI_COMM_WORLD, 1, MPI_COMM_WORLD, size, 0, &none)),
         rank == 1 ? MPI_ERR_RANK : MPI_ERR_COMM);
    int dims[1] = {1}, periods[1] = {0};
    SAME(class_of(MPI_Cart_create(inter, 1, dims, periods, 0, &none)), MPI_ERR_COMM);
    MPI_Comm_group(inter, &group);
    SAME(class_of(MPI_Comm_create_group(inter, group, 0, &none)), MPI_ERR_COMM);
    MPI_Group_free(&group);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    if (size < 2) return conclude();
    lower = rank < size / 2;
    mine = lower ? size / 2 : size - size / 2;
    theirs = size - mine;
    MPI_Comm inter = connect();
    shape(inter);
    messages(inter);
    rooted(inter);
    without_buffers(inter);
    symmetric(inter);
    children(inter);
    from_groups();
    wrong(inter);
    MPI_Comm_free(&inter);
    return conclude();
}
