/* Random collectives against a model: usage: random_collectives SEED [STEPS [THREADS]].
 *
 * All ranks draw the same operations. Blocking, non-blocking and persistent ones are under way
 * beside each other; communicators come and go, between groups and with neighbours too. Every rank
 * computes what it has to get with a loop over the ranks, and compares the gaps of its buffers. */
#include "random_places.h"
#include "random_values.h"

enum { SLOTS = 6, MOST_PENDING = 32, MOST_BYTES = 4 << 20 };
enum form { BLOCKING, LATER, PERSISTENT };
enum kind {
    BARRIER,
    BCAST,
    GATHER,
    SCATTER,
    ALLGATHER,
    ALLTOALL,
    GATHERV,
    SCATTERV,
    ALLGATHERV,
    ALLTOALLV,
    ALLTOALLW,
    REDUCE,
    ALLREDUCE,
    REDUCE_SCATTER,
    REDUCE_SCATTER_BLOCK,
    SCAN,
    EXSCAN,
    KINDS
};
static const char *const names[] = {
    "barrier",   "bcast",   "gather",    "scatter",        "allgather",
    "alltoall",  "gatherv", "scatterv",  "allgatherv",     "alltoallv",
    "alltoallw", "reduce",  "allreduce", "reduce_scatter", "reduce_scatter_block",
    "scan",      "exscan"};

struct operation {
    enum kind kind;
    struct layout out, in, *parts[2];
    struct room sent, got;
    MPI_Request request;
    int has_sent, has_got, is_persistent, lists[4][MOST_RANKS];
    MPI_Aint displacements[2][MOST_RANKS];
    MPI_Datatype types[2][MOST_RANKS];
    const struct reduction *reduction;
    unsigned char *before;
    int part_count[2];
    long open; /* from which element on the result may be anything */
    char name[160];
};

static void prepare(struct operation *op, int sends, struct layout layout, long blocks)
{
    if (sends) op->out = layout, op->sent = room_for(&layout, blocks), op->has_sent = 1;
    else op->in = layout, op->got = room_for(&layout, blocks), op->has_got = 1;
}

/* What is sent stays. */
static void send_block(struct operation *op, long block, uint64_t key)
{
    set_block(&op->sent, &op->out, block, key);
    want_block(&op->sent, &op->out, block, key);
}

static void compare(const struct job *job, struct operation *op)
{
    const struct reduction *r = op->reduction;
    if (r && op->has_got)
        for (long i = 0; i < op->in.elements; i++) {
            long at = op->got.origin + place_in(&op->in, 0, i) + r->gap;
            memcpy(op->got.memory + at, op->got.expected + at, (size_t)(r->gap_end - r->gap));
            if (i >= op->open)
                memcpy(op->got.memory + at - r->gap, op->got.expected + at - r->gap,
                       (size_t)r->bytes);
        }
    char text[200];
    if (op->has_sent)
        snprintf(text, sizeof text, "%s, sent", op->name), check_room(job, &op->sent, text);
    if (op->has_got)
        snprintf(text, sizeof text, "%s, got", op->name), check_room(job, &op->got, text);
}

static void end(struct operation *op)
{
    for (int side = 0; side < 2; side++) {
        for (int i = 0; i < op->part_count[side]; i++) forget(&op->parts[side][i]);
        free(op->parts[side]);
    }
    if (op->has_sent) free_room(&op->sent), forget(&op->out);
    if (op->has_got) free_room(&op->got), forget(&op->in);
    if (op->is_persistent) MPI_Request_free(&op->request);
    free(op->before);
    free(op);
}

/* Completes all, in a way of this rank's own. */
static void complete(struct draw *mine, struct operation **pending, int count)
{
    MPI_Request requests[MOST_PENDING];
    int done, index, indices[MOST_PENDING], left = count;
    for (int i = 0; i < count; i++) requests[i] = pending[i]->request;
    switch (draw(mine, 6)) {
    case 0: MPI_Waitall(count, requests, MPI_STATUSES_IGNORE); break;
    case 1:
        for (int i = count - 1; i >= 0; i--) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        break;
    case 2:
        for (int i = 0; i < count; i++) MPI_Waitany(count, requests, &index, MPI_STATUS_IGNORE);
        break;
    case 3:
        for (; left > 0; left -= done)
            MPI_Waitsome(count, requests, &done, indices, MPI_STATUSES_IGNORE);
        break;
    case 4:
        for (; left > 0; left -= done)
            MPI_Testsome(count, requests, &done, indices, MPI_STATUSES_IGNORE);
        break;
    default:
        for (int i = 0; i < count; i++)
            for (done = 0; !done;) MPI_Test(&requests[i], &done, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < count; i++) pending[i]->request = requests[i];
}

/* Completes all, persistent ones twice. */
static void drain(const struct job *job, struct draw *mine, struct operation **pending, int *count)
{
    struct operation *again[MOST_PENDING];
    MPI_Request requests[MOST_PENDING];
    int repeated = 0;
    complete(mine, pending, *count);
    for (int i = 0; i < *count; i++) {
        compare(job, pending[i]);
        if (!pending[i]->is_persistent) continue;
        if (pending[i]->has_got)
            memcpy(pending[i]->got.memory, pending[i]->before, (size_t)pending[i]->got.bytes);
        requests[repeated] = pending[i]->request;
        again[repeated++] = pending[i];
    }
    if (repeated) {
        MPI_Startall(repeated, requests);
        for (int i = 0; i < repeated; i++) again[i]->request = requests[i];
        complete(mine, again, repeated);
        for (int i = 0; i < repeated; i++) compare(job, again[i]);
    }
    for (int i = 0; i < *count; i++) end(pending[i]);
    *count = 0;
}

#define CALL(name, later, ...)                                 \
    (form == BLOCKING ? MPI_##name(__VA_ARGS__)                \
     : form == LATER  ? MPI_##later(__VA_ARGS__, &op->request) \
                      : MPI_##name##_init(__VA_ARGS__, MPI_INFO_NULL, &op->request))
/* Between neighbours, or all. */
#define EITHER(name, lower, ...)                                    \
    (meets ? CALL(Neighbor_##lower, Ineighbor_##lower, __VA_ARGS__) \
           : CALL(name, I##lower, __VA_ARGS__))
#define KEEP                                                       \
    if (form == PERSISTENT && op->has_got) {                       \
        op->before = malloc((size_t)op->got.bytes);                \
        memcpy(op->before, op->got.memory, (size_t)op->got.bytes); \
    }
#define SENT (op->has_sent ? start_of(&op->sent) : NULL)
#define GOT (op->has_got ? start_of(&op->got) : NULL)
#define OUT SENT, op->out.count, op->out.type
#define IN GOT, op->in.count, op->in.type

/* Everything about an operation that its ranks agree on. */
struct plan {
    struct draw from, own; /* the same for all, and another for every rank */
    uint64_t key;
    MPI_Datatype element;
    int bytes, root, root_side, in_place;
    long n;
};

static struct layout any(struct plan *plan, long n)
{
    return laid_out(draw(&plan->own, LAYOUTS), n, plan->element, plan->bytes, &plan->own);
}

/* Of which parts can be named by counts and displacements. */
static struct layout countable(struct plan *plan, long n)
{
    static const int kinds[] = {0, 0, 2, 3, 9};
    return laid_out(kinds[draw(&plan->own, 5)], n, plan->element, plan->bytes, &plan->own);
}

static long count_for(const struct plan *plan, int side, int from, int to)
{
    if (plan->in_place && from > to) return count_for(plan, side, to, from);
    uint64_t drawn =
        mixed(plan->key * 5 + (uint64_t)side * 31 + (uint64_t)from * 4099 + (uint64_t)to);
    return drawn % 4 == 0 ? 0 : (long)(drawn >> 8) % (plan->n + 1);
}

/* Displacements of counted parts, mixed up and with gaps; returns the elements that they span. */
static long spread(struct plan *plan, int parts, const int *counts, int *places)
{
    long at = 0;
    int first = parts ? draw(&plan->own, parts) : 0;
    for (int i = 0; i < parts; i++) {
        int part = (first + i) % parts;
        at += draw(&plan->own, 3);
        places[part] = (int)at;
        at += counts[part];
    }
    return at;
}

static void set_part(struct operation *op, int sends, int wants, long at, long count, uint64_t key)
{
    unsigned char bytes[32];
    struct room *room = sends ? &op->sent : &op->got;
    const struct layout *layout = sends ? &op->out : &op->in;
    for (long i = 0; i < count; i++) {
        value(key, i, bytes, layout->bytes);
        if (wants) want(room, layout, 0, at + i, bytes);
        if (!wants || sends) set(room, layout, 0, at + i, bytes);
    }
}

static void rooted(struct operation *op, struct place *p, struct plan *plan, enum form form)
{
    int from_here = !p->is_inter || p->side == plan->root_side, root = plan->root, me = p->me;
    int is_root = from_here && me == root, in_place = plan->in_place && is_root,
        *counts = op->lists[0], *places = op->lists[1];
    int joins = p->is_inter ? !from_here : 1; /* gives to the root or takes from it */
    long n = plan->n;
    uint64_t key = plan->key;
    if (p->is_inter) root = is_root ? MPI_ROOT : from_here ? MPI_PROC_NULL : root;
    int givers = p->others;
    switch (op->kind) {
    case BCAST:
        if (is_root || joins) {
            prepare(op, 0, any(plan, n), 1);
            if (is_root) set_block(&op->got, &op->in, 0, key);
            want_block(&op->got, &op->in, 0, key);
        }
        KEEP;
        CALL(Bcast, Ibcast, IN, root, p->comm);
        break;
    case GATHER:
    case GATHERV:
        if (joins && !in_place) {
            long count = op->kind == GATHER ? n : count_for(plan, 0, me, 0);
            prepare(op, 1, any(plan, count), 1);
            send_block(op, 0, key_of(key, 0, me, 0));
        }
        if (is_root && op->kind == GATHER) {
            prepare(op, 0, any(plan, n), givers);
            for (int i = 0; i < givers; i++) want_block(&op->got, &op->in, i, key_of(key, 0, i, 0));
            if (in_place) set_block(&op->got, &op->in, me, key_of(key, 0, me, 0));
        } else if (is_root) {
            for (int i = 0; i < givers; i++) counts[i] = (int)count_for(plan, 0, i, 0);
            prepare(op, 0, countable(plan, spread(plan, givers, counts, places)), 1);
            for (int i = 0; i < givers; i++)
                set_part(op, 0, 1, places[i], counts[i], key_of(key, 0, i, 0));
            if (in_place) set_part(op, 0, 0, places[me], counts[me], key_of(key, 0, me, 0));
        }
        KEEP;
        if (op->kind == GATHER)
            CALL(Gather, Igather, in_place ? MPI_IN_PLACE : SENT, op->out.count, op->out.type, IN,
                 root, p->comm);
        else
            CALL(Gatherv, Igatherv, in_place ? MPI_IN_PLACE : SENT, op->out.count, op->out.type,
                 GOT, counts, places, op->in.type, root, p->comm);
        break;
    default:
        if (is_root && op->kind == SCATTER) {
            prepare(op, 1, any(plan, n), givers);
            for (int i = 0; i < givers; i++) send_block(op, i, key_of(key, 0, i, 0));
        } else if (is_root) {
            for (int i = 0; i < givers; i++) counts[i] = (int)count_for(plan, 0, i, 0);
            prepare(op, 1, countable(plan, spread(plan, givers, counts, places)), 1);
            for (int i = 0; i < givers; i++)
                set_part(op, 1, 1, places[i], counts[i], key_of(key, 0, i, 0));
        }
        if (joins && !in_place) {
            prepare(op, 0, any(plan, op->kind == SCATTER ? n : count_for(plan, 0, me, 0)), 1);
            want_block(&op->got, &op->in, 0, key_of(key, 0, me, 0));
        }
        KEEP;
        if (op->kind == SCATTER)
            CALL(Scatter, Iscatter, OUT, in_place ? MPI_IN_PLACE : GOT, op->in.count, op->in.type,
                 root, p->comm);
        else
            CALL(Scatterv, Iscatterv, SENT, counts, places, op->out.type,
                 in_place ? MPI_IN_PLACE : GOT, op->in.count, op->in.type, root, p->comm);
    }
}

/* Everybody gives the same to all, or to its neighbours. */
static void gathered(struct operation *op, struct place *p, struct plan *plan, enum form form,
                     int meets)
{
    int *counts = op->lists[0], *places = op->lists[1], in_place = plan->in_place;
    int is_counted = op->kind == ALLGATHERV;
    long n = p->side ? plan->n / 2 : plan->n, theirs = p->theirs ? plan->n / 2 : plan->n;
    if (!in_place) {
        prepare(op, 1, any(plan, is_counted ? count_for(plan, p->side, p->me, 0) : n), 1);
        send_block(op, 0, key_of(plan->key, p->side, p->me, 0));
    }
    for (int i = 0; is_counted && i < p->ins; i++)
        counts[i] = (int)count_for(plan, p->theirs, p->from[i], 0);
    if (is_counted) prepare(op, 0, countable(plan, spread(plan, p->ins, counts, places)), 1);
    else prepare(op, 0, any(plan, theirs), p->ins);
    for (int i = 0; i < p->ins; i++) {
        uint64_t key = key_of(plan->key, p->theirs, p->from[i], 0);
        if (is_counted) set_part(op, 0, 1, places[i], counts[i], key);
        else want_block(&op->got, &op->in, i, key);
        if (in_place && i == p->me && is_counted) set_part(op, 0, 0, places[i], counts[i], key);
        else if (in_place && i == p->me) set_block(&op->got, &op->in, i, key);
    }
    KEEP;
    const void *sent = in_place ? MPI_IN_PLACE : SENT;
    if (is_counted)
        EITHER(Allgatherv, allgatherv, sent, op->out.count, op->out.type, GOT, counts, places,
               op->in.type, p->comm);
    else EITHER(Allgather, allgather, sent, op->out.count, op->out.type, IN, p->comm);
}

static void exchanged(struct operation *op, struct place *p, struct plan *plan, enum form form,
                      int meets)
{
    int in_place = plan->in_place;
    long n = p->side ? plan->n / 2 : plan->n, theirs = p->theirs ? plan->n / 2 : plan->n;
    for (int sends = !in_place; sends >= 0; sends--) {
        int parts = sends ? p->outs : p->ins, *counts = op->lists[2 * sends],
            *places = op->lists[2 * sends + 1];
        for (int i = 0; op->kind == ALLTOALLV && i < parts; i++)
            counts[i] = (int)(sends ? count_for(plan, p->side, p->me, p->to[i])
                                    : count_for(plan, p->theirs, p->from[i], p->me));
        if (op->kind == ALLTOALL) prepare(op, sends, any(plan, sends ? n : theirs), parts);
        else prepare(op, sends, countable(plan, spread(plan, parts, counts, places)), 1);
        for (int i = 0; i < parts; i++) {
            uint64_t key = sends ? key_of(plan->key, p->side, p->me, p->to[i])
                                 : key_of(plan->key, p->theirs, p->from[i], p->me);
            uint64_t first = key_of(plan->key, p->side, p->me, i);
            if (op->kind == ALLTOALLV) {
                set_part(op, sends, 1, places[i], counts[i], key);
                if (in_place) set_part(op, 0, 0, places[i], counts[i], first);
            } else if (sends) send_block(op, i, key);
            else {
                want_block(&op->got, &op->in, i, key);
                if (in_place) set_block(&op->got, &op->in, i, first);
            }
        }
    }
    KEEP;
    const void *sent = in_place ? MPI_IN_PLACE : SENT;
    if (op->kind == ALLTOALL)
        EITHER(Alltoall, alltoall, sent, op->out.count, op->out.type, IN, p->comm);
    else
        EITHER(Alltoallv, alltoallv, sent, op->lists[2], op->lists[3], op->out.type, GOT,
               op->lists[0], op->lists[1], op->in.type, p->comm);
}

/* Every part has a type of its own. */
static void typed(struct operation *op, struct place *p, struct plan *plan, enum form form,
                  int meets)
{
    int in_place = plan->in_place, *bytes[2] = {op->lists[1], op->lists[3]};
    unsigned char element[32];
    for (int sends = !in_place; sends >= 0; sends--) {
        int parts = op->part_count[sends] = sends ? p->outs : p->ins,
            *counts = op->lists[2 * sends];
        struct layout *layouts = op->parts[sends] = malloc(sizeof *layouts * (size_t)(parts + 1));
        MPI_Aint at = 0;
        for (int i = 0; i < parts; i++) {
            layouts[i] = any(plan, sends ? count_for(plan, p->side, p->me, p->to[i])
                                         : count_for(plan, p->theirs, p->from[i], p->me));
            op->displacements[sends][i] = bytes[sends][i] = (int)(at - layouts[i].low);
            at += layouts[i].high - layouts[i].low + draw(&plan->own, 3) * 16;
            counts[i] = layouts[i].count, op->types[sends][i] = layouts[i].type;
        }
        prepare(op, sends, plain(at, MPI_BYTE, 1), 1);
        struct room *room = sends ? &op->sent : &op->got;
        for (int i = 0; i < parts; i++) {
            uint64_t key = sends ? key_of(plan->key, p->side, p->me, p->to[i])
                                 : key_of(plan->key, p->theirs, p->from[i], p->me);
            for (long j = 0; j < layouts[i].elements; j++) {
                long place = room->origin + bytes[sends][i] + place_in(&layouts[i], 0, j);
                value(key, j, element, plan->bytes);
                memcpy(room->expected + place, element, (size_t)plan->bytes);
                if (in_place) value(key_of(plan->key, p->side, p->me, i), j, element, plan->bytes);
                if (in_place || sends) memcpy(room->memory + place, element, (size_t)plan->bytes);
            }
        }
    }
    KEEP;
    if (meets)
        CALL(Neighbor_alltoallw, Ineighbor_alltoallw, SENT, op->lists[2], op->displacements[1],
             op->types[1], GOT, op->lists[0], op->displacements[0], op->types[0], p->comm);
    else
        CALL(Alltoallw, Ialltoallw, in_place ? MPI_IN_PLACE : SENT, op->lists[2], bytes[1],
             op->types[1], GOT, op->lists[0], bytes[0], op->types[0], p->comm);
}

static void one_of(const struct plan *plan, const struct reduction *r, int side, int from, long i,
                   void *to)
{
    memset(to, 0, (size_t)r->bytes);
    r->make(mixed(key_of(plan->key, side, from, 0) + (uint64_t)i), to);
}

static void reduced(struct operation *op, struct place *p, struct plan *plan, enum form form)
{
    const struct reduction *r = op->reduction =
        &reductions[draw(&plan->from, 3) == 0 ? AFFINE : draw(&plan->from, REDUCTIONS)];
    int layout = r == &reductions[AFFINE] ? (int[]){0, 2, 3, 9}[draw(&plan->from, 4)] : 0;
    int me = p->me, *counts = op->lists[0], root = plan->root, is_rooted = op->kind == REDUCE;
    int from_here = !p->is_inter || p->side == plan->root_side,
        is_root = is_rooted && from_here && me == root;
    int in_place = plan->in_place && (!is_rooted || is_root);
    int gives = !is_rooted || !p->is_inter || !from_here, takes = !is_rooted || is_root;
    int last = op->kind == SCAN ? me : op->kind == EXSCAN ? me - 1 : p->others - 1;
    long n = plan->n, start = 0, length, each = p->is_inter ? n % 1000 * p->others : n;
    if (op->kind == REDUCE_SCATTER_BLOCK) n = each * p->mine, start = each * me;
    if (op->kind == REDUCE_SCATTER) {
        for (long i = 0, left = n; i < p->mine; left -= counts[i++]) {
            uint64_t drawn = mixed(plan->key * 7 + (uint64_t)i);
            counts[i] = (int)(i == p->mine - 1 ? left
                              : drawn % 3 == 0 ? 0
                                               : (long)(drawn >> 8) % (left + 1));
            if (i < me) start += counts[i];
        }
    }
    length = op->kind == REDUCE_SCATTER ? counts[me] : op->kind == REDUCE_SCATTER_BLOCK ? each : n;
    unsigned char sum[32], next[32];
    MPI_Datatype type = r->type;
    if (gives && !in_place) {
        prepare(op, 1, laid_out(layout, n, r->type, r->bytes, &plan->own), 1);
        type = op->out.type;
        for (long i = 0; i < n; i++) {
            one_of(plan, r, p->side, me, i, next);
            set(&op->sent, &op->out, 0, i, next), want(&op->sent, &op->out, 0, i, next);
        }
    }
    if (takes) {
        int scatters = op->kind == REDUCE_SCATTER || op->kind == REDUCE_SCATTER_BLOCK;
        prepare(op, 0, laid_out(layout, in_place ? n : length, r->type, r->bytes, &plan->own), 1);
        type = n > 0 && op->has_sent ? op->out.type : op->in.type;
        for (long i = 0; in_place && i < n; i++) {
            one_of(plan, r, p->side, me, i, next);
            set(&op->got, &op->in, 0, i, next);
            want(&op->got, &op->in, 0, i, next);
        }
        for (long i = 0; last >= 0 && i < length; i++) {
            one_of(plan, r, p->theirs, 0, start + i, sum);
            for (int from = 1; from <= last; from++) {
                one_of(plan, r, p->theirs, from, start + i, next);
                r->join(sum, next);
                memcpy(sum, next, sizeof sum);
            }
            want(&op->got, &op->in, 0, i, sum);
        }
        op->open = last < 0 ? 0 : scatters && in_place ? length : n;
    }
    KEEP;
    if (p->is_inter && is_rooted) root = is_root ? MPI_ROOT : from_here ? MPI_PROC_NULL : root;
    const void *sent = in_place ? MPI_IN_PLACE : SENT;
    int count = (int)n;
    switch (op->kind) {
    case REDUCE: CALL(Reduce, Ireduce, sent, GOT, count, type, r->op, root, p->comm); break;
    case ALLREDUCE: CALL(Allreduce, Iallreduce, sent, GOT, count, type, r->op, p->comm); break;
    case REDUCE_SCATTER:
        CALL(Reduce_scatter, Ireduce_scatter, sent, GOT, counts, type, r->op, p->comm);
        break;
    case REDUCE_SCATTER_BLOCK:
        CALL(Reduce_scatter_block, Ireduce_scatter_block, sent, GOT, (int)each, type, r->op,
             p->comm);
        break;
    case SCAN: CALL(Scan, Iscan, sent, GOT, count, type, r->op, p->comm); break;
    default: CALL(Exscan, Iexscan, sent, GOT, count, type, r->op, p->comm);
    }
}

static struct operation *started(const struct job *job, struct draw *from, struct place place,
                                 enum form form)
{
    struct operation *op = calloc(1, sizeof *op);
    struct place *p = &place;
    MPI_Datatype elements[] = {MPI_BYTE, MPI_UINT16_T, MPI_INT, MPI_DOUBLE, MPI_C_DOUBLE_COMPLEX};
    int element = draw(from, 5), is_graph = p->is_graph && draw(from, 4) > 0;
    op->kind = is_graph ? (enum kind[]){ALLGATHER, ALLTOALL, ALLGATHERV, ALLTOALLV,
                                        ALLTOALLW}[draw(from, 5)]
                        : (enum kind)draw(from, p->is_inter ? SCAN : KINDS);
    struct plan plan = {.key = number(from), .element = elements[element], .bytes = 1 << element};
    plan.from = (struct draw){mixed(plan.key)};
    plan.own = (struct draw){mixed(plan.key + 1 + (uint64_t)rank)};
    plan.in_place = draw(from, 4) == 0 && !p->is_inter && !is_graph;
    plan.root_side = p->is_inter ? draw(from, 2) : 0;
    plan.root = draw(from, p->side == plan.root_side ? p->mine : p->others);
    plan.n = some_length(from, MOST_BYTES / plan.bytes);
    int widest = p->mine > p->others ? p->mine : p->others;
    if (op->kind > BCAST && op->kind < REDUCE)
        plan.n /= plan.n * plan.bytes * widest > MOST_BYTES ? widest : 1;
    if (op->kind >= REDUCE && plan.n > 20000) plan.n %= 20000;
    if (!is_graph) meet_all(p);
    op->out.type = op->in.type = MPI_INT;
    op->request = MPI_REQUEST_NULL;
    static const char *const forms[] = {"blocking", "non-blocking", "persistent"};
    snprintf(op->name, sizeof op->name,
             "%s%s, %s%s%s, %ld elements of %d bytes, root %d, member %d of %d and %d",
             is_graph ? "neighbour " : "", names[op->kind], forms[form],
             plan.in_place ? " in place" : "", p->is_inter ? " between groups" : "", plan.n,
             plan.bytes, plan.root, p->me, p->mine, p->others);
    switch (op->kind) {
    case BARRIER: CALL(Barrier, Ibarrier, p->comm); break;
    case BCAST:
    case GATHER:
    case SCATTER:
    case GATHERV:
    case SCATTERV: rooted(op, p, &plan, form); break;
    case ALLGATHER:
    case ALLGATHERV: gathered(op, p, &plan, form, is_graph); break;
    case ALLTOALL:
    case ALLTOALLV: exchanged(op, p, &plan, form, is_graph); break;
    case ALLTOALLW: typed(op, p, &plan, form, is_graph); break;
    default: reduced(op, p, &plan, form);
    }
    op->is_persistent = form == PERSISTENT;
    if (op->is_persistent) MPI_Start(&op->request);
    (void)job;
    return op;
}

static void *work(void *given)
{
    struct job *job = given;
    struct place places[SLOTS];
    struct operation *pending[MOST_PENDING];
    int count = 0;
    struct draw mine = {mixed(seed * 31 + (uint64_t)rank * 64 + (uint64_t)job->thread)};
    for (int slot = 0; slot < SLOTS; slot++) {
        struct draw from = {mixed(seed + (uint64_t)(slot * 8 + job->thread))};
        make_place(job, &from, &places[slot]);
    }
    for (job->step = 0; job->step < steps; job->step++) {
        struct draw from = of_step(job);
        struct place *place = &places[draw(&from, SLOTS)];
        if (draw(&from, 20) == 0) {
            int waits = draw(&from, 2);
            for (int i = 0; i < count; i++) waits |= pending[i]->is_persistent;
            if (waits) drain(job, &mine, pending, &count);
            if (place->comm != MPI_COMM_NULL) MPI_Comm_free(&place->comm);
            make_place(job, &from, place);
        }
        enum form form = (enum form)draw(&from, 3);
        int drains = draw(&from, 5) == 0 || job->step % 16 == 15;
        if (place->comm != MPI_COMM_NULL) {
            struct operation *op = started(job, &from, *place, form);
            if (form == BLOCKING) compare(job, op), end(op);
            else pending[count++] = op;
        }
        if (drains) drain(job, &mine, pending, &count);
    }
    drain(job, &mine, pending, &count);
    for (int slot = 0; slot < SLOTS; slot++)
        if (places[slot].comm != MPI_COMM_NULL) MPI_Comm_free(&places[slot].comm);
    return NULL;
}

int main(int argc, char **argv)
{
    return run_jobs(argc, argv, work, list_reductions, free_reductions);
}
