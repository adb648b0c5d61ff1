/* Random one-sided operations against a model: usage: random_windows SEED [STEPS [THREADS]].
 *
 * All ranks draw the same operations on the windows of all, and compute what becomes of every byte.
 * A window has three parts. In the first every operation has a place of its own, so that puts and
 * gets do not meet. In the second every origin has a place, where its accumulates happen in their
 * order, with results that are known. In the third all accumulate with one commutative operation.
 */
#include "random_values.h"
#include <unistd.h>

enum { MOST = 40, MOST_RANKS = 64, PARTS = 3 };
enum epoch { FENCE, POSTED, SHARED, EXCLUSIVE, MIXED, ALL, EPOCHS };
enum kind { PUT, GET, ACCUMULATE, GET_ACCUMULATE, FETCH, SWAP, KINDS };
enum window { ALLOCATED, CREATED, MEMORY_OF_MPI, TOGETHER, DYNAMIC, WINDOWS };
static const char *const epochs[] = {"fence",          "post",  "shared lock",
                                     "exclusive lock", "locks", "lock_all"};
static const char *const windows[] = {"allocated", "created", "of Alloc_mem", "shared", "dynamic"};
static const char *const kinds[] = {
    "put", "get", "accumulate", "get_accumulate", "fetch_and_op", "compare_and_swap"};

struct action {
    enum kind kind;
    int origin, target, part, bytes, with_request;
    long n, place; /* of the first byte that the type counts from */
    struct layout there;
    const struct reduction *reduction;
    MPI_Op op;
    uint64_t key;
    int is_equal; /* what is swapped is what it is compared with */
    /* At the origin. */
    struct layout out, in;
    struct room sent, got;
    int has_sent, has_got, is_open; /* is_open: what is got depends on others */
    unsigned char compared[32];
};

struct state {
    struct job *job;
    MPI_Win window;
    enum window how;
    unsigned char *memory, *base; /* base: what was allocated, if it was by this program */
    long part, bytes;
    int units[MOST_RANKS];
    MPI_Aint starts[MOST_RANKS];
    unsigned char *models[MOST_RANKS];
    struct action list[MOST];
    int count;
    const struct reduction *reduction; /* of the step */
    enum epoch epoch;
    struct draw mine;
};

static void close_window(struct state *s)
{
    if (s->window == MPI_WIN_NULL) return;
    if (s->how == DYNAMIC) MPI_Win_detach(s->window, s->memory);
    MPI_Win_free(&s->window);
    for (int i = 0; s->base && s->how != MEMORY_OF_MPI && i < GUARD; i++)
        if (s->base[i] != 0xa5 || s->base[GUARD + s->bytes + i] != 0xa5) {
            wrong(s->job, "bytes around of a window have changed");
            break;
        }
    if (s->how == MEMORY_OF_MPI) MPI_Free_mem(s->base);
    else free(s->base);
    s->base = NULL;
    for (int i = 0; i < size; i++) free(s->models[i]);
}

static void open_window(struct state *s, struct draw *from)
{
    close_window(s);
    MPI_Comm comm = s->job->comm;
    MPI_Info info = MPI_INFO_NULL;
    s->how = (enum window)draw(from, WINDOWS);
    s->part = draw(from, 6) == 0 ? 64 << 10 : 2048;
    s->bytes = s->part * PARTS;
    int same = draw(from, 2), unit = 1 << draw(from, 5), hints = draw(from, 3);
    for (int i = 0; i < size; i++)
        s->units[i] = s->how == DYNAMIC ? 1 : same ? unit : 1 << draw(from, 5);
    unit = s->units[rank];
    if (hints == 0) {
        MPI_Info_create(&info);
        if (same) MPI_Info_set(info, "same_disp_unit", "true");
        MPI_Info_set(info, "same_size", "true");
        MPI_Info_set(info, "alloc_shared_noncontig", "true");
    }
    if (s->how == CREATED || s->how == DYNAMIC) {
        s->base = aligned_alloc(64, (size_t)(s->bytes + 2 * GUARD));
        memset(s->base, 0xa5, (size_t)(s->bytes + 2 * GUARD));
        s->memory = s->base + GUARD;
    } else if (s->how == MEMORY_OF_MPI) {
        MPI_Alloc_mem(s->bytes, info, &s->base);
        s->memory = s->base;
    }
    switch (s->how) {
    case ALLOCATED: MPI_Win_allocate(s->bytes, unit, info, comm, &s->memory, &s->window); break;
    case TOGETHER:
        MPI_Win_allocate_shared(s->bytes, unit, info, comm, &s->memory, &s->window);
        break;
    case DYNAMIC: MPI_Win_create_dynamic(info, comm, &s->window); break;
    default: MPI_Win_create(s->memory, s->bytes, unit, info, comm, &s->window);
    }
    memset(s->starts, 0, sizeof s->starts);
    if (s->how == DYNAMIC) {
        MPI_Aint start;
        MPI_Win_attach(s->window, s->memory, s->bytes);
        MPI_Get_address(s->memory, &start);
        MPI_Allgather(&start, 1, MPI_AINT, s->starts, 1, MPI_AINT, comm);
    }
    if (info != MPI_INFO_NULL) MPI_Info_free(&info);
    for (int i = 0; i < size; i++) s->models[i] = malloc((size_t)s->bytes);
}

/* What all windows begin a step with: bytes, and elements of the step's type. */
static void begin_models(struct state *s, uint64_t key)
{
    const struct reduction *r = s->reduction;
    for (int i = 0; i < size; i++) {
        for (long at = 0; at < s->part; at += 8)
            value(key_of(key, i, 0, 0), at, s->models[i] + at, 8);
        for (long at = s->part; at < s->bytes; at += r->bytes) {
            memset(s->models[i] + at, 0, (size_t)r->bytes);
            r->make(mixed(key_of(key, i, 1, 0) + (uint64_t)at), s->models[i] + at);
        }
    }
}

static int is_whole(const struct reduction *r)
{
    return r->type == MPI_INT || r->type == MPI_UINT64_T || r->type == MPI_INT8_T ||
           r->type == MPI_UINT16_T || r->type == MPI_SHORT;
}

static int is_pair(const struct reduction *r) { return r->op == MPI_MINLOC || r->op == MPI_MAXLOC; }

/* Where a layout goes between two places, on the grid of its elements; -1 if there is no room. */
static long fitted(struct draw *from, const struct layout *l, long start, long end, int grid)
{
    long room = end - start - (l->high - l->low);
    if (room < 0) return -1;
    long at = start - l->low + draw(from, room / grid + 1) * grid;
    return at + l->high <= end && at + l->low >= start ? at : -1;
}

static void draw_actions(struct state *s, struct draw *from)
{
    long used[MOST_RANKS] = {0}, each = s->part / size / 16 * 16;
    int count = 1 + draw(from, MOST), focus = draw(from, 3) ? size : 1;
    s->count = 0;
    for (int i = 0; i < count; i++) {
        struct action *a = &s->list[s->count];
        *a = (struct action){
            .origin = draw(from, size), .target = draw(from, focus), .part = draw(from, PARTS)};
        a->key = number(from), a->with_request = draw(from, 3) == 0, a->is_equal = draw(from, 2);
        MPI_Datatype element = s->reduction->type;
        struct draw shape = {number(from)};
        int layout = draw(from, 2) ? 0 : draw(from, LAYOUTS), grid = 16, chosen = draw(from, 8);
        int unit = s->units[a->target];
        a->n = some_length(from, s->part / 16);
        long start, end;
        if (a->part == 0) {
            a->bytes = 1 << draw(from, 4);
            element = a->bytes == 1   ? MPI_BYTE
                      : a->bytes == 2 ? MPI_UINT16_T
                      : a->bytes == 4 ? MPI_FLOAT
                                      : MPI_DOUBLE;
            a->kind = draw(from, 2) ? PUT : GET;
            start = used[a->target], end = s->part;
        } else {
            a->reduction = s->reduction, a->bytes = s->reduction->bytes, a->op = s->reduction->op;
            a->kind = (enum kind)(ACCUMULATE + draw(from, 3));
            if (a->part == 1 && chosen == 0) a->op = MPI_REPLACE;
            if (chosen == 1 && a->kind != ACCUMULATE) a->op = MPI_NO_OP;
            if (a->part == 1 && chosen >= 6 && is_whole(s->reduction)) a->kind = SWAP;
            if (a->kind >= FETCH) a->n = 1, layout = 0;
            start = a->part * s->part + (a->part == 1 ? a->origin * each : 0);
            end = a->part == 1 ? start + each : s->bytes;
            a->n %= (end - start) / a->bytes / 3 + 1;
            if (a->kind >= FETCH) a->n = 1;
        }
        a->there = laid_out(layout, a->n, element, a->bytes, &shape);
        /* The place is named in the target's units. */
        grid = a->part == 0 ? 16 : a->bytes > unit ? a->bytes : unit;
        if (a->part == 0) {
            a->place = (start - a->there.low + 15) / 16 * 16;
            if (a->place + a->there.high > end || a->place + a->there.low < start) a->place = -1;
        } else a->place = fitted(from, &a->there, start, end, grid);
        if (a->place < 0 || a->place % unit) {
            forget(&a->there);
            continue;
        }
        if (a->part == 0) used[a->target] = a->place + a->there.high;
        s->count++;
    }
}

static void made_value(const struct action *a, long i, unsigned char *to)
{
    memset(to, 0, 32);
    if (a->reduction) a->reduction->make(mixed(a->key + (uint64_t)i), to);
    else value(a->key, i, to, a->bytes);
}

/* Does it to the model, and prepares the buffers of the origin. */
static void prepare(struct state *s, struct action *a)
{
    unsigned char given[32];
    int is_mine = a->origin == rank, takes = a->kind != PUT && a->kind != ACCUMULATE;
    int gives = a->kind != GET && a->op != MPI_NO_OP;
    MPI_Datatype element = a->reduction    ? a->reduction->type
                           : a->bytes == 1 ? MPI_BYTE
                           : a->bytes == 2 ? MPI_UINT16_T
                           : a->bytes == 4 ? MPI_FLOAT
                                           : MPI_DOUBLE;
    int single = a->kind >= FETCH;
    if (is_mine && gives) {
        a->out = laid_out(single || draw(&s->mine, 2) ? 0 : draw(&s->mine, LAYOUTS), a->n, element,
                          a->bytes, &s->mine);
        a->sent = room_for(&a->out, 1), a->has_sent = 1;
    }
    if (is_mine && takes) {
        a->in = laid_out(single || draw(&s->mine, 2) ? 0 : draw(&s->mine, LAYOUTS), a->n, element,
                         a->bytes, &s->mine);
        a->got = room_for(&a->in, 1), a->has_got = 1, a->is_open = a->part == 2;
    }
    for (long i = 0; i < a->n; i++) {
        unsigned char *there = s->models[a->target] + a->place + place_in(&a->there, 0, i);
        made_value(a, i, given);
        if (is_mine && gives)
            set(&a->sent, &a->out, 0, i, given), want(&a->sent, &a->out, 0, i, given);
        if (is_mine && takes) want(&a->got, &a->in, 0, i, there);
        if (a->kind == SWAP) {
            unsigned char next[32];
            memcpy(a->compared, there, (size_t)a->bytes);
            if (!a->is_equal) a->compared[0] ^= 1;
            else memcpy(next, given, sizeof next), memcpy(there, next, (size_t)a->bytes);
        } else if (a->kind == PUT || a->op == MPI_REPLACE) memcpy(there, given, (size_t)a->bytes);
        else if (gives) {
            unsigned char right[32];
            memcpy(right, there, (size_t)a->bytes);
            a->reduction->join(given, right); /* commutative, all of them */
            memcpy(there, right, (size_t)a->bytes);
        }
    }
}

/* May something else be there from here on? It is read no more. */
static void destroy(struct action *a)
{
    if (!a->has_sent) return;
    memset(a->sent.memory, 0x3c, (size_t)a->sent.bytes);
    memset(a->sent.expected, 0x3c, (size_t)a->sent.bytes);
}

static void compare_got(struct state *s, struct action *a)
{
    if (a->has_sent) check_room(s->job, &a->sent, "what an origin gave");
    if (!a->has_got) return;
    const struct reduction *r = a->reduction;
    for (long i = 0; r && i < a->n; i++) {
        long at = a->got.origin + place_in(&a->in, 0, i);
        if (a->is_open) memcpy(a->got.memory + at, a->got.expected + at, (size_t)a->bytes);
        else
            memcpy(a->got.memory + at + r->gap, a->got.expected + at + r->gap,
                   (size_t)(r->gap_end - r->gap));
    }
    char text[120];
    snprintf(text, sizeof text, "%s of %ld elements of %d bytes at %d, window %s, %s",
             kinds[a->kind], a->n, a->bytes, a->target, windows[s->how], epochs[s->epoch]);
    check_room(s->job, &a->got, text);
}

static void act(struct state *s, struct action *a)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Win w = s->window;
    MPI_Aint place = s->starts[a->target] + a->place / s->units[a->target];
    int is_passive = s->epoch >= SHARED, to = a->target, asks = a->with_request && is_passive && a->kind < FETCH;
    void *sent = a->has_sent ? start_of(&a->sent) : NULL,
         *got = a->has_got ? start_of(&a->got) : NULL;
    struct layout none = plain(0, a->bytes ? MPI_BYTE : MPI_INT, 1),
                  *out = a->has_sent ? &a->out : &none, *there = &a->there;
#define OUT sent, out->count, out->type
#define IN got, a->in.count, a->in.type
#define THERE to, place, there->count, there->type
    switch (a->kind) {
    case PUT: asks ? MPI_Rput(OUT, THERE, w, &request) : MPI_Put(OUT, THERE, w); break;
    case GET: asks ? MPI_Rget(IN, THERE, w, &request) : MPI_Get(IN, THERE, w); break;
    case ACCUMULATE:
        asks ? MPI_Raccumulate(OUT, THERE, a->op, w, &request)
             : MPI_Accumulate(OUT, THERE, a->op, w);
        break;
    case GET_ACCUMULATE:
        if (!a->has_sent) out->type = s->reduction->type;
        asks ? MPI_Rget_accumulate(OUT, IN, THERE, a->op, w, &request)
             : MPI_Get_accumulate(OUT, IN, THERE, a->op, w);
        break;
    case FETCH: MPI_Fetch_and_op(sent, got, s->reduction->type, to, place, a->op, w); break;
    default: MPI_Compare_and_swap(sent, a->compared, got, s->reduction->type, to, place, w);
    }
    if (asks) {
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        destroy(a); /* what was got is compared later, and has to stay */
    } else if (is_passive && draw(&s->mine, 4) == 0) {
        switch (draw(&s->mine, 4)) {
        case 0: MPI_Win_flush(to, w); break;
        case 1: MPI_Win_flush_local(to, w); break;
        case 2: MPI_Win_flush_all(w); break;
        default: MPI_Win_flush_local_all(w);
        }
        destroy(a);
    }
}

/* All that this rank does to one target, or to all. */
static void act_on(struct state *s, int target)
{
    for (int i = 0; i < s->count; i++)
        if (s->list[i].origin == rank && (target < 0 || s->list[i].target == target))
            act(s, &s->list[i]);
}

static MPI_Group group_of(struct state *s, int of_targets)
{
    int members[MOST_RANKS], count = 0;
    MPI_Group all, some;
    for (int i = size - 1; i >= 0; i--) {
        int is_in = 0;
        for (int j = 0; j < s->count; j++) {
            const struct action *a = &s->list[j];
            is_in |= of_targets ? a->origin == rank && a->target == i
                                : a->target == rank && a->origin == i;
        }
        if (is_in) members[count++] = i;
    }
    MPI_Comm_group(s->job->comm, &all);
    MPI_Group_incl(all, count, members, &some);
    MPI_Group_free(&all);
    return some;
}

static void epoch(struct state *s, struct draw *from)
{
    MPI_Win w = s->window;
    int flag = 0;
    switch (s->epoch) {
    case FENCE:
        MPI_Win_fence(draw(from, 2) ? MPI_MODE_NOPRECEDE : 0, w);
        act_on(s, -1);
        MPI_Win_fence(draw(from, 2) ? MPI_MODE_NOSUCCEED : 0, w);
        break;
    case POSTED: {
        MPI_Group origins = group_of(s, 0), targets = group_of(s, 1);
        MPI_Win_post(origins, 0, w);
        MPI_Win_start(targets, 0, w);
        act_on(s, -1);
        MPI_Win_complete(w);
        if (draw(&s->mine, 2)) MPI_Win_wait(w);
        else
            while (!flag) MPI_Win_test(w, &flag);
        MPI_Group_free(&origins), MPI_Group_free(&targets);
        break;
    }
    case SHARED:
        for (int i = 0; i < size; i++) MPI_Win_lock(MPI_LOCK_SHARED, i, 0, w);
        act_on(s, -1);
        for (int i = size - 1; i >= 0; i--) MPI_Win_unlock(i, w);
        break;
    case EXCLUSIVE:
    case MIXED:
        for (int i = 0; i < size; i++) {
            int target = (i + rank) % size;
            MPI_Win_lock(s->epoch == EXCLUSIVE || draw(&s->mine, 2) ? MPI_LOCK_EXCLUSIVE
                                                                    : MPI_LOCK_SHARED,
                         target, 0, w);
            act_on(s, target);
            MPI_Win_unlock(target, w);
        }
        break;
    default:
        MPI_Win_lock_all(draw(from, 2) ? MPI_MODE_NOCHECK : 0, w);
        act_on(s, -1);
        MPI_Win_unlock_all(w);
    }
}

static void compare_window(struct state *s, int of, const unsigned char *memory)
{
    const struct reduction *r = s->reduction;
    const unsigned char *model = s->models[of];
    for (long at = 0; at < s->bytes; at++) {
        if (at >= s->part && (at - s->part) % r->bytes >= r->gap &&
            (at - s->part) % r->bytes < r->gap_end)
            continue;
        if (memory[at] == model[at]) continue;
        wrong(s->job,
              "byte %ld of part %ld of the window of %d is 0x%02x, expected 0x%02x (window %s, %s, "
              "elements of %d bytes%s)",
              at % s->part, at / s->part, of, memory[at], model[at], windows[s->how],
              epochs[s->epoch], r->bytes, is_pair(r) ? ", pairs" : "");
        return;
    }
}

static void step(struct state *s)
{
    struct draw from = of_step(s->job);
    MPI_Comm comm = s->job->comm;
    int chosen;
    if (draw(&from, 6) == 0 || s->window == MPI_WIN_NULL) open_window(s, &from);
    s->epoch = (enum epoch)draw(&from, EPOCHS);
    do s->reduction = &reductions[chosen = draw(&from, AFFINE)];
    while (s->reduction->op == MPI_PROD && s->reduction->type != MPI_UINT64_T);
    begin_models(s, number(&from));
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, s->window);
    memcpy(s->memory, s->models[rank], (size_t)s->bytes);
    MPI_Win_unlock(rank, s->window);
    draw_actions(s, &from);
    for (int i = 0; i < s->count; i++) prepare(s, &s->list[i]);
    MPI_Barrier(comm);
    epoch(s, &from);
    MPI_Barrier(comm);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, s->window);
    MPI_Win_sync(s->window);
    compare_window(s, rank, s->memory);
    if (s->how == TOGETHER) { /* another's memory is seen by loads */
        MPI_Aint bytes;
        int unit, other = (rank + 1) % size;
        unsigned char *theirs;
        MPI_Win_shared_query(s->window, other, &bytes, &unit, &theirs);
        if (bytes != s->bytes || unit != s->units[other])
            wrong(s->job, "a shared window of %ld bytes, unit %d", (long)bytes, unit);
        else compare_window(s, other, theirs);
    }
    MPI_Win_unlock(rank, s->window);
    for (int i = 0; i < s->count; i++) {
        struct action *a = &s->list[i];
        if (a->origin == rank) compare_got(s, a);
        if (a->has_sent) free_room(&a->sent), forget(&a->out);
        if (a->has_got) free_room(&a->got), forget(&a->in);
        forget(&a->there);
    }
    MPI_Barrier(comm);
}

static void *work(void *given)
{
    struct state *s = calloc(1, sizeof *s);
    s->job = given;
    s->window = MPI_WIN_NULL;
    s->mine = (struct draw){mixed(seed * 41 + (uint64_t)rank * 64 + (uint64_t)s->job->thread)};
    for (s->job->step = 0; s->job->step < steps; s->job->step++) step(s);
    close_window(s);
    free(s);
    return NULL;
}

int main(int argc, char **argv)
{
    return run_jobs(argc, argv, work, list_reductions, free_reductions);
}
