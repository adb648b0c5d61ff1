/* Long collectives that do not block and combine nothing: several at once on two communicators, in both forms, beside blocking ones, in place and not, of types with gaps and without. */
#include "check.h"

enum { KINDS = 5, GAP = 3 };

/* Each element is as much more than the one before. */
enum { MORE = 7 };
static int value(int from, int salt, int i) { return from * 1000003 + salt * 7919 + i * MORE; }

/* One of them: what it reads and writes, and elements of its type. */
struct one {
    int kind, count, root, in_place, salt, step;
    MPI_Datatype type;
    MPI_Comm comm;
    int *out, *in;
    MPI_Request request;
};

static int is_root(const struct one *one) { return rank == one->root; }

/* Blocks that a member brings, and that it gets. */
static int blocks_out(const struct one *one) { return one->kind == 2 || (one->kind == 4 && is_root(one)) ? size : 1; }
static int blocks_in(const struct one *one) { return one->kind == 1 || one->kind == 2 || (one->kind == 3 && is_root(one)) ? size : 1; }

static void lay(struct one *one)
{
    long more = (long)one->count * blocks_in(one);
    for (long i = 0; i < more * one->step; i++) one->in[i] = -1;
    for (long i = 0; i < (long)one->count * blocks_out(one); i++) one->out[i * one->step] = value(rank, one->salt, (int)i);
    int own = one->kind == 0 ? 0 : rank;
    if (one->kind == 0 ? is_root(one) : one->in_place && (one->kind == 1 || (one->kind == 3 && is_root(one))))
        for (int i = 0; i < one->count; i++) one->in[((long)own * one->count + i) * one->step] = value(rank, one->salt, i);
}

static void make(struct one *one, int kind, int count, int root, int in_place, int gaps, int salt, MPI_Comm comm)
{
    *one = (struct one){kind, count, root % size, in_place, salt, gaps ? GAP : 1, MPI_DATATYPE_NULL, comm, NULL, NULL, MPI_REQUEST_NULL};
    MPI_Type_create_resized(MPI_INT, 0, one->step * (int)sizeof(int), &one->type);
    MPI_Type_commit(&one->type);
    one->out = malloc((size_t)count * size * one->step * sizeof(int));
    one->in = malloc((size_t)count * size * one->step * sizeof(int));
    lay(one);
}

/* Begins it, keeps it for later, or does it at once. */
static void call(struct one *one, char form)
{
    int n = one->count, root = one->root;
    MPI_Datatype type = one->type;
    void *out = one->in_place && (one->kind == 1 || (one->kind == 3 && is_root(one))) ? MPI_IN_PLACE : one->out;
    void *in = one->in_place && one->kind == 4 && is_root(one) ? MPI_IN_PLACE : one->in;
#define FORMS(name, ...)                                                                                                \
    (form == 'b' ? MPI_##name(__VA_ARGS__, one->comm)                                                                   \
                 : form == 'k' ? MPI_##name##_init(__VA_ARGS__, one->comm, MPI_INFO_NULL, &one->request)                \
                               : MPI_I##name(__VA_ARGS__, one->comm, &one->request))
#define MPI_IBcast MPI_Ibcast
#define MPI_IAllgather MPI_Iallgather
#define MPI_IAlltoall MPI_Ialltoall
#define MPI_IGather MPI_Igather
#define MPI_IScatter MPI_Iscatter
    switch (one->kind) {
    case 0: FORMS(Bcast, one->in, n, type, root); break;
    case 1: FORMS(Allgather, out, n, type, in, n, type); break;
    case 2: FORMS(Alltoall, one->out, n, type, one->in, n, type); break;
    case 3: FORMS(Gather, out, n, type, in, n, type, root); break;
    default: FORMS(Scatter, out, n, type, in, n, type, root);
    }
}

static void compare(const struct one *one)
{
    int n = one->count, wrong = 0;
    if ((one->kind == 3 && !is_root(one)) || (one->kind == 4 && one->in_place && is_root(one))) return;
    for (int block = 0; block < blocks_in(one); block++) {
        int expected;
        switch (one->kind) {
        case 0: expected = value(one->root, one->salt, 0); break;
        case 2: expected = value(block, one->salt, rank * n); break;
        case 4: expected = value(one->root, one->salt, rank * n); break;
        default: expected = value(block, one->salt, 0);
        }
        const int *in = one->in + (long)block * n * one->step;
        for (int at = 0; at < n; at++, in += one->step, expected += MORE) {
            wrong += *in != expected;
            for (int gap = 1; gap < one->step; gap++) wrong += in[gap] != -1;
        }
    }
    if (wrong) fprintf(stderr, "kind %d, %d elements, root %d, in place %d, step %d\n", one->kind, n, one->root, one->in_place, one->step);
    SAME(wrong, 0);
}

static void drop(struct one *one)
{
    if (one->request != MPI_REQUEST_NULL) MPI_Request_free(&one->request);
    MPI_Type_free(&one->type);
    free(one->out);
    free(one->in);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    /* Twelve rounds are every length with and without gaps, in place and not.
     * A first argument asks for fewer. */
    int rounds = argc > 1 ? atoi(argv[1]) : 12;
    static const int counts[] = {9000, 20001, 70000};
    MPI_Comm comms[2] = {MPI_COMM_WORLD};
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    /* So many calls that both have all that they get in their first ones. */
    for (int i = 0; i < 20; i++) MPI_Barrier(comms[i % 2]);
    for (int round = 0; round < rounds; round++) {
        struct one begun[2 * KINDS], between, kept[KINDS];
        int count = counts[round % 3], n = 2 * KINDS, gaps = round % 4 == 3, done = 0;
        for (int i = 0; i < KINDS; i++) {
            make(&kept[i], i, count, round + i, round % 2, gaps, 100 + i, comms[i % 2]);
            call(&kept[i], 'k');
        }
        for (int i = 0; i < n; i++) {
            make(&begun[i], (i + round) % KINDS, count, i, round % 2, gaps && i % 2, i, comms[i % 2]);
            call(&begun[i], 'i');
            /* Each starts those that it has kept in an order of its own. */
            if (i < KINDS) MPI_Start(&kept[(i + rank) % KINDS].request);
        }
        make(&between, round % KINDS, round % 2 ? count : 10, 1, 0, 0, 200, comms[round % 2]);
        call(&between, 'b');
        compare(&between);
        drop(&between);
        if (rank % 2)
            while (done < n) {
                done = 0;
                for (int i = 0; i < n; i++) {
                    int flag;
                    MPI_Test(&begun[i].request, &flag, MPI_STATUS_IGNORE);
                    done += flag;
                }
            }
        for (int i = 0; i < n; i++) {
            struct one *one = &begun[(i * 3 + rank) % n];
            MPI_Wait(&one->request, MPI_STATUS_IGNORE);
            compare(one);
        }
        for (int again = 0; again < 2; again++)
            for (int i = 0; i < KINDS; i++) {
                MPI_Wait(&kept[i].request, MPI_STATUS_IGNORE);
                compare(&kept[i]);
                lay(&kept[i]);
                if (again == 0) MPI_Start(&kept[i].request);
            }
        for (int i = 0; i < n; i++) drop(&begun[i]);
        for (int i = 0; i < KINDS; i++) drop(&kept[i]);
    }
    MPI_Comm_free(&comms[1]);
    return conclude();
}
