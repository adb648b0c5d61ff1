/* Collectives of the same length again and again: members may find out that another way suits them better, and everything stays right, with each of them as the root, in place and not, of types with gaps and without, and
 * with calls of other kinds and lengths between. */
#include "check.h"

enum { KINDS = 7, MOST = 1 << 18 };

static int *out, *in;

static int value(int from, int salt, int i) { return from * 1000003 + salt * 7919 + i * 7; }

static int expected(int kind, int n, int root, int salt, int i)
{
    int block = i / n, at = i % n, all = 0;
    switch (kind) {
    case 0: return value(root, salt, at);
    case 1:
        for (int from = 0; from < size; from++) all += value(from, salt, at);
        return all;
    case 3: return value(block, salt, rank * n + at);
    case 5: return value(root, salt, rank * n + at);
    case 6:
        for (int from = 0; from < size; from++) all += value(from, salt, at);
        return all;
    default: return value(block, salt, at);
    }
}

static void call(int kind, int n, int root, int in_place, int step, int salt)
{
    MPI_Datatype type = MPI_INT;
    int me = rank == root, gives = kind == 3 || (kind == 5 && me) ? size * n : n, gets = kind >= 2 && kind <= 4 ? size * n : n;
    if (step > 1) {
        MPI_Type_create_resized(MPI_INT, 0, step * (int)sizeof(int), &type);
        MPI_Type_commit(&type);
    }
    int *from = kind == 0 || (in_place && kind == 1) ? in : in_place && kind == 2 ? in + (long)rank * n * step : out;
    for (int i = 0; i < gets; i++) in[(long)i * step] = -1;
    for (int i = 0; i < gives && (kind != 0 || me); i++) from[(long)i * step] = value(rank, salt, i);
    switch (kind) {
    case 0: MPI_Bcast(in, n, type, root, MPI_COMM_WORLD); break;
    case 1: MPI_Allreduce(in_place ? MPI_IN_PLACE : out, in, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD); break;
    case 2: MPI_Allgather(in_place ? MPI_IN_PLACE : out, n, type, in, n, type, MPI_COMM_WORLD); break;
    case 3: MPI_Alltoall(out, n, type, in, n, type, MPI_COMM_WORLD); break;
    case 4: MPI_Gather(out, n, type, in, n, type, root, MPI_COMM_WORLD); break;
    case 5: MPI_Scatter(out, n, type, in, n, type, root, MPI_COMM_WORLD); break;
    default: MPI_Reduce(out, in, n, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
    }
    int wrong = 0;
    for (int from = 0; from < gets && (me || (kind != 4 && kind != 6)); from += n) {
        /* Within a block every element is as much more than the one before. */
        int should = expected(kind, n, root, salt, from);
        int more = expected(kind, n, root, salt, from + 1) - should;
        for (int i = from; i < from + n; i++, should += more) wrong += in[(long)i * step] != should;
    }
    if (wrong) fprintf(stderr, "kind %d, %d elements, root %d, in place %d, step %d, call %d\n", kind, n, root, in_place, step, salt);
    SAME(wrong, 0);
    if (step > 1) MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    /* So many calls are twice those after which two members have tried both ways.
     * A first argument asks for fewer. */
    int most = argc > 1 ? atoi(argv[1]) : 48;
    static const int counts[] = {700, 2048, 9000, 16384, 20001, 70000, MOST};
    out = calloc((size_t)MOST * size * 3, sizeof(int));
    in = calloc((size_t)MOST * size * 3, sizeof(int));
    for (int i = 0; i < 20; i++) MPI_Barrier(MPI_COMM_WORLD);
    for (int kind = 0; kind < KINDS; kind++)
        for (int c = 0; c < 7; c++) {
            int sums = kind == 1 || kind == 6, calls = counts[c] > 20001 ? most / 2 : most;
            for (int i = 0; i < calls; i++) {
                int step = i % 8 == 7 && !sums && counts[c] < MOST ? 3 : 1;
                call(kind, counts[c], i / (most / 4) % size, i % 3 == 0, step, i);
                if (i % 5 == 0) call((kind + i) % KINDS, counts[(c + i) % 5], i % size, 0, 1, i);
            }
        }
    free(out);
    free(in);
    return conclude();
}
