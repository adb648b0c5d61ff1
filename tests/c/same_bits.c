/* Sums of numbers of widely different magnitude have the same bits in every call of every
 * reduction, in every form, on every communicator of as many members. Values are combined in pairs
 * of neighbours, pairs of these, and so on; prefixes from the left. */
#include "check.h"

#include <float.h>
#include <math.h>
#include <stdint.h>

enum { CALLS = 12, LONG_CALLS = 7, LONG = 5000, MOST = 100000 };

static double *own, *result, *expected, *prefixes, *before;

/* Different zeros, too, which the order tells apart where the largest is asked for. */
static double value(int member, long at)
{
    uint64_t bits = (uint64_t)member * 0x9e3779b97f4a7c15u + (uint64_t)at * 0xbf58476d1ce4e5b9u + 1;
    bits ^= bits >> 31;
    bits *= 0x94d049bb133111ebu;
    bits ^= bits >> 29;
    double sign = bits & 1 ? -1 : 1;
    return bits % 7 == 0 ? sign * 0.0 : sign * ldexp((double)(bits >> 12), (int)(bits >> 1 & 63) - 32);
}

static double combine(MPI_Op op, double low, double high)
{
    return op == MPI_SUM ? low + high : low > high ? low : high;
}

static double in_pairs(MPI_Op op, int first, int span, long at)
{
    if (span == 1) return value(first, at);
    double low = in_pairs(op, first, span / 2, at);
    return first + span / 2 < size ? combine(op, low, in_pairs(op, first + span / 2, span / 2, at)) : low;
}

static void expect(MPI_Op op, long count)
{
    int span = 1;
    while (span < size) span *= 2;
    for (long i = 0; i < count; i++) {
        expected[i] = in_pairs(op, 0, span, i);
        double prefix = value(0, i);
        before[i] = 0;
        for (int member = 1; member <= rank; member++) {
            before[i] = prefix;
            prefix = combine(op, prefix, value(member, i));
        }
        prefixes[i] = prefix;
    }
}

static void same(const char *what, int form, int call, const double *found, const double *wanted, long count)
{
    if (memcmp(found, wanted, count * sizeof *found) == 0 || !count_failure()) return;
    long at = 0;
    while (memcmp(&found[at], &wanted[at], sizeof *found) == 0) at++;
    fprintf(stderr, "rank %d of %d: %s, form %d, call %d, element %ld of %ld: %a, expected %a\n", rank, size, what, form, call, at,
            count, found[at], wanted[at]);
}

enum { ALLREDUCE, REDUCE, REDUCE_SCATTER, REDUCE_SCATTER_BLOCK, SCAN, EXSCAN, KINDS };
enum { BLOCKING, STARTED, KEPT, IN_PLACE, FORMS };

static const char *const names[] = {"allreduce", "reduce", "reduce_scatter", "reduce_scatter_block", "scan", "exscan"};

/* What a call is made of. The last member gets more of what is dealt out, the first nothing. */
struct call {
    int kind, count, root, each;
    int *counts;
    MPI_Op op;
    MPI_Comm comm;
};

static void begin_call(const struct call *c, int form, const void *from, MPI_Request *request)
{
    switch (c->kind * FORMS + form) {
#define FORM(kind, name, ...)                                                                                                \
    case kind * FORMS + BLOCKING:                                                                                            \
    case kind * FORMS + IN_PLACE: MPI_##name(__VA_ARGS__); break;                                                            \
    case kind * FORMS + STARTED: MPI_I##name##_(__VA_ARGS__, request); break;                                                \
    case kind * FORMS + KEPT: MPI_##name##_init(__VA_ARGS__, MPI_INFO_NULL, request); break;
#define MPI_IAllreduce_ MPI_Iallreduce
#define MPI_IReduce_ MPI_Ireduce
#define MPI_IReduce_scatter_ MPI_Ireduce_scatter
#define MPI_IReduce_scatter_block_ MPI_Ireduce_scatter_block
#define MPI_IScan_ MPI_Iscan
#define MPI_IExscan_ MPI_Iexscan
        FORM(ALLREDUCE, Allreduce, from, result, c->count, MPI_DOUBLE, c->op, c->comm)
        FORM(REDUCE, Reduce, from, result, c->count, MPI_DOUBLE, c->op, c->root, c->comm)
        FORM(REDUCE_SCATTER, Reduce_scatter, from, result, c->counts, MPI_DOUBLE, c->op, c->comm)
        FORM(REDUCE_SCATTER_BLOCK, Reduce_scatter_block, from, result, c->each, MPI_DOUBLE, c->op, c->comm)
        FORM(SCAN, Scan, from, result, c->count, MPI_DOUBLE, c->op, c->comm)
        FORM(EXSCAN, Exscan, from, result, c->count, MPI_DOUBLE, c->op, c->comm)
    }
}

static void check_call(const struct call *c, int form, int call)
{
    long first = 0, count = c->count;
    const double *wanted = expected;
    switch (c->kind) {
    case REDUCE:
        if (rank != c->root) return;
        break;
    case REDUCE_SCATTER:
        count = c->counts[rank];
        for (int member = 0; member < rank; member++) first += c->counts[member];
        break;
    case REDUCE_SCATTER_BLOCK:
        count = c->each;
        first = (long)rank * c->each;
        break;
    case SCAN: wanted = prefixes; break;
    case EXSCAN:
        if (rank == 0) return;
        wanted = before;
        break;
    }
    same(names[c->kind], form, call, result, wanted + first, count);
}

static void run(struct call *c, int form, int calls)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int in_place = form == IN_PLACE && (c->kind != REDUCE || rank == c->root);
    if (form == KEPT) begin_call(c, form, own, &request);
    for (int call = 1; call <= calls; call++) {
        for (long i = 0; i < c->count; i++) result[i] = in_place ? own[i] : NAN;
        if (form == KEPT) MPI_Start(&request);
        else begin_call(c, form, in_place ? MPI_IN_PLACE : own, &request);
        if (form != BLOCKING && form != IN_PLACE) MPI_Wait(&request, MPI_STATUS_IGNORE);
        check_call(c, form, call);
    }
    if (form == KEPT) MPI_Request_free(&request);
}

static void every_call(MPI_Op op, int count)
{
    int *counts = malloc(size * sizeof *counts);
    struct call c = {.count = count, .each = count / size, .counts = counts, .op = op};
    expect(op, count);
    for (int member = 0; member < size; member++) counts[member] = member == 0 ? 0 : count / size;
    counts[size - 1] += count - count / size * (size - 1);
    if (size == 1) counts[0] = count;
    for (int kind = 0; kind < KINDS; kind++)
        for (int form = 0; form < FORMS; form++) {
            c.kind = kind;
            c.root = (kind + form + count) % size;
            /* A communicator in its first calls, and one that has had many. */
            c.comm = MPI_COMM_WORLD;
            run(&c, form, 1);
            MPI_Comm_dup(MPI_COMM_WORLD, &c.comm);
            run(&c, form, count < LONG ? CALLS : LONG_CALLS);
            MPI_Comm_free(&c.comm);
        }
    free(counts);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    static const int counts[] = {1, 2, 9, 14, 15, 64, 65, 500, 2100, 4097, 30011, MOST};
    int most = argc > 1 ? atoi(argv[1]) : MOST;
    double **all[] = {&own, &result, &expected, &prefixes, &before};
    for (int i = 0; i < 5; i++) *all[i] = malloc(MOST * sizeof(double));
    for (long i = 0; i < MOST; i++) own[i] = value(rank, i);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        if (counts[i] > most) break;
        every_call(MPI_SUM, counts[i]);
        if (counts[i] < LONG) every_call(MPI_MAX, counts[i]);
    }
    for (int i = 0; i < 5; i++) free(*all[i]);
    return conclude();
}
