/* One-sided: put and get on every kind of window, under every kind of synchronisation, with datatypes of all forms on both sides against a model
 * that knows nothing of datatypes but their maps. An argument says how many bytes are large. */
#include "check.h"

enum { KINDS = 4, BYTES = 4096 }; /* created, allocated, shared, dynamic */

/* A window with as many bytes for each member, and where they are. */
struct window {
    MPI_Win win;
    unsigned char *base;
    MPI_Aint *origin; /* what a displacement of zero is at each member */
    int kind;
};

static struct window make(int kind, MPI_Aint bytes)
{
    struct window w = {MPI_WIN_NULL, NULL, NULL, kind};
    MPI_Aint mine = 0;
    w.origin = calloc(size, sizeof *w.origin);
    switch (kind) {
    case 0:
        w.base = calloc(1, bytes);
        SAME(MPI_Win_create(w.base, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &w.win), MPI_SUCCESS);
        break;
    case 1: SAME(MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &w.base, &w.win), MPI_SUCCESS); break;
    case 2: SAME(MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &w.base, &w.win), MPI_SUCCESS); break;
    default:
        w.base = calloc(1, bytes);
        SAME(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &w.win), MPI_SUCCESS);
        SAME(MPI_Win_attach(w.win, w.base, bytes), MPI_SUCCESS);
        MPI_Get_address(w.base, &mine);
    }
    MPI_Win_set_errhandler(w.win, MPI_ERRORS_RETURN);
    MPI_Allgather(&mine, 1, MPI_AINT, w.origin, 1, MPI_AINT, MPI_COMM_WORLD);
    return w;
}

static void unmake(struct window *w)
{
    if (w->kind == 3) SAME(MPI_Win_detach(w->win, w->base), MPI_SUCCESS);
    SAME(MPI_Win_free(&w->win), MPI_SUCCESS);
    CHECK(w->win == MPI_WIN_NULL);
    if (w->kind == 0 || w->kind == 3) free(w->base);
    free(w->origin);
}

/* Allocated memory is zero; base, size, unit, flavor and model are told. */
static void facts(int kind)
{
    static const int flavors[KINDS] = {MPI_WIN_FLAVOR_CREATE, MPI_WIN_FLAVOR_ALLOCATE, MPI_WIN_FLAVOR_SHARED,
                                       MPI_WIN_FLAVOR_DYNAMIC};
    struct window w = make(kind, BYTES);
    void *value;
    int flag;
    MPI_Win_get_attr(w.win, MPI_WIN_BASE, &value, &flag);
    CHECK(flag && value == (kind == 3 ? MPI_BOTTOM : (void *)w.base));
    MPI_Win_get_attr(w.win, MPI_WIN_SIZE, &value, &flag);
    CHECK(flag && *(MPI_Aint *)value == (kind == 3 ? 0 : BYTES));
    MPI_Win_get_attr(w.win, MPI_WIN_DISP_UNIT, &value, &flag);
    CHECK(flag && *(int *)value == 1);
    MPI_Win_get_attr(w.win, MPI_WIN_CREATE_FLAVOR, &value, &flag);
    CHECK(flag && *(int *)value == flavors[kind]);
    MPI_Win_get_attr(w.win, MPI_WIN_MODEL, &value, &flag);
    CHECK(flag && *(int *)value == MPI_WIN_UNIFIED);
    for (int i = 0; i < BYTES; i++) SAME(w.base[i], 0);
    unmake(&w);
}

enum { FENCE, GROUPS, LOCK, LOCK_ALL, SYNCHRONISATIONS };

/* Everybody writes to the next and reads what the one before has, in one epoch of a kind each. */
static void neighbours(int kind, int how)
{
    struct window w = make(kind, BYTES);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    unsigned char out[1000], in[1000];
    MPI_Group all, rights, lefts;
    MPI_Win_get_group(w.win, &all);
    MPI_Group_incl(all, 1, &right, &rights);
    MPI_Group_incl(all, 1, &left, &lefts);
    for (int round = 0; round < 6; round++) {
        fill(out, sizeof out, rank, round);
        MPI_Aint to = w.origin[right] + 7 * round, from = w.origin[right] + 7 * round;
        switch (how) {
        case FENCE:
            SAME(MPI_Win_fence(round ? 0 : MPI_MODE_NOPRECEDE, w.win), MPI_SUCCESS);
            SAME(MPI_Put(out, sizeof out, MPI_BYTE, right, to, sizeof out, MPI_BYTE, w.win), MPI_SUCCESS);
            SAME(MPI_Win_fence(MPI_MODE_NOSTORE, w.win), MPI_SUCCESS);
            SAME(MPI_Get(in, sizeof in, MPI_BYTE, right, from, sizeof in, MPI_BYTE, w.win), MPI_SUCCESS);
            SAME(MPI_Win_fence(MPI_MODE_NOSUCCEED | MPI_MODE_NOPUT, w.win), MPI_SUCCESS);
            break;
        case GROUPS: {
            int flag = 0;
            SAME(MPI_Win_post(lefts, 0, w.win), MPI_SUCCESS);
            SAME(MPI_Win_start(rights, 0, w.win), MPI_SUCCESS);
            SAME(MPI_Put(out, sizeof out, MPI_BYTE, right, to, sizeof out, MPI_BYTE, w.win), MPI_SUCCESS);
            SAME(MPI_Win_complete(w.win), MPI_SUCCESS);
            SAME(MPI_Win_wait(w.win), MPI_SUCCESS);
            SAME(MPI_Win_post(lefts, round % 2 ? MPI_MODE_NOPUT : 0, w.win), MPI_SUCCESS);
            SAME(MPI_Win_start(rights, 0, w.win), MPI_SUCCESS);
            SAME(MPI_Get(in, sizeof in, MPI_BYTE, right, from, sizeof in, MPI_BYTE, w.win), MPI_SUCCESS);
            SAME(MPI_Win_complete(w.win), MPI_SUCCESS);
            if (round % 2) SAME(MPI_Win_wait(w.win), MPI_SUCCESS);
            while (round % 2 == 0 && !flag) SAME(MPI_Win_test(w.win, &flag), MPI_SUCCESS);
            break;
        }
        case LOCK: {
            MPI_Request requests[2];
            SAME(MPI_Win_lock(round % 2 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, right, 0, w.win), MPI_SUCCESS);
            SAME(MPI_Rput(out, sizeof out, MPI_BYTE, right, to, sizeof out, MPI_BYTE, w.win, &requests[0]), MPI_SUCCESS);
            SAME(MPI_Win_flush(right, w.win), MPI_SUCCESS);
            SAME(MPI_Rget(in, sizeof in, MPI_BYTE, right, from, sizeof in, MPI_BYTE, w.win, &requests[1]), MPI_SUCCESS);
            SAME(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
            SAME(MPI_Win_unlock(right, w.win), MPI_SUCCESS);
            MPI_Barrier(MPI_COMM_WORLD);
            break;
        }
        case LOCK_ALL:
            SAME(MPI_Win_lock_all(round % 2 ? MPI_MODE_NOCHECK : 0, w.win), MPI_SUCCESS);
            SAME(MPI_Put(out, sizeof out, MPI_BYTE, right, to, sizeof out, MPI_BYTE, w.win), MPI_SUCCESS);
            SAME(MPI_Win_flush_local(right, w.win), MPI_SUCCESS);
            SAME(MPI_Win_flush_local_all(w.win), MPI_SUCCESS);
            SAME(MPI_Win_flush_all(w.win), MPI_SUCCESS);
            SAME(MPI_Get(in, sizeof in, MPI_BYTE, right, from, sizeof in, MPI_BYTE, w.win), MPI_SUCCESS);
            SAME(MPI_Win_flush(right, w.win), MPI_SUCCESS);
            SAME(MPI_Win_unlock_all(w.win), MPI_SUCCESS);
            MPI_Barrier(MPI_COMM_WORLD);
        }
        SAME(MPI_Win_sync(w.win), MPI_SUCCESS);
        SAME(differs(in, sizeof in, rank, round), -1);
        SAME(differs(w.base + 7 * round, sizeof out, left, round), -1);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Group_free(&all);
    MPI_Group_free(&rights);
    MPI_Group_free(&lefts);
    unmake(&w);
}

/* Types of the same 240 ints, and where each of them lies. */
enum { INTS = 240, TYPES = 6, SPAN = 2048 };

static MPI_Datatype type_of(int form, int *count)
{
    MPI_Datatype type = MPI_INT, inner;
    int lengths[3] = {1, 2, 1}, places[3] = {5, 0, 3};
    *count = INTS;
    switch (form) {
    case 1: MPI_Type_vector(12, 5, 9, MPI_INT, &type), *count = 4; break;
    case 2: MPI_Type_indexed(3, lengths, places, MPI_INT, &type), *count = 60; break;
    case 3:
        MPI_Type_vector(3, 1, 2, MPI_INT, &inner);
        MPI_Type_create_hvector(4, 1, 40, inner, &type), *count = 20;
        MPI_Type_free(&inner);
        break;
    case 4: MPI_Type_create_resized(MPI_INT, 0, 12, &type), *count = INTS; break;
    case 5: {
        int sizes[2] = {30, 20}, parts[2] = {24, 10}, starts[2] = {3, 4};
        MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &type), *count = 1;
    }
    }
    if (form) MPI_Type_commit(&type);
    return type;
}

/* Where the ints lie, found out by packing numbers. */
static void places_of(MPI_Datatype type, int count, int *places)
{
    static int all[SPAN];
    int at = 0;
    for (int i = 0; i < SPAN; i++) all[i] = i;
    MPI_Pack(all, count, type, places, INTS * sizeof(int), &at, MPI_COMM_WORLD);
    SAME(at, INTS * sizeof(int));
}

static void scattered(int kind)
{
    struct window w = make(kind, SPAN * sizeof(int));
    int target = (rank + 1) % size, *window = (int *)w.base, data[SPAN], back[SPAN], expected[SPAN];
    for (int of_origin = 0; of_origin < TYPES; of_origin++)
        for (int of_target = 0; of_target < TYPES; of_target++) {
            int origin_count, target_count, here[INTS], there[INTS];
            MPI_Datatype origin = type_of(of_origin, &origin_count), aim = type_of(of_target, &target_count);
            places_of(origin, origin_count, here);
            places_of(aim, target_count, there);
            for (int i = 0; i < SPAN; i++) data[i] = rank * 10000 + i, back[i] = -1;
            MPI_Win_fence(0, w.win);
            for (int i = 0; i < SPAN; i++) window[i] = -7;
            MPI_Win_fence(0, w.win);
            SAME(MPI_Put_c(data, origin_count, origin, target, w.origin[target], target_count, aim, w.win), MPI_SUCCESS);
            MPI_Win_fence(0, w.win);
            int before = (rank + size - 1) % size;
            for (int i = 0; i < SPAN; i++) expected[i] = -7;
            for (int i = 0; i < INTS; i++) expected[there[i]] = before * 10000 + here[i];
            for (int i = 0; i < SPAN; i++) SAME(window[i], expected[i]);
            SAME(MPI_Get_c(back, origin_count, origin, target, w.origin[target], target_count, aim, w.win), MPI_SUCCESS);
            MPI_Win_fence(0, w.win);
            for (int i = 0; i < SPAN; i++) expected[i] = -1;
            for (int i = 0; i < INTS; i++) expected[here[i]] = data[here[i]];
            for (int i = 0; i < SPAN; i++) SAME(back[i], expected[i]);
            if (of_origin) MPI_Type_free(&origin);
            if (of_target) MPI_Type_free(&aim);
        }
    unmake(&w);
}

/* Shared windows of those who share memory: in one piece, or each member's at a place of its own; members store and load. */
static void shared(MPI_Comm comm)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int apart = 0; apart < 2; apart++) {
        MPI_Info info;
        MPI_Info_create(&info);
        MPI_Info_set(info, "alloc_shared_noncontig", apart ? "true" : "false");
        MPI_Win win;
        int *mine, *theirs, unit, *first = NULL;
        MPI_Aint bytes = rank == 1 ? 0 : 64 * sizeof(int), found;
        SAME(MPI_Win_allocate_shared(bytes, sizeof(int), info, comm, &mine, &win), MPI_SUCCESS);
        MPI_Info_free(&info);
        MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
        for (int i = 0; i < bytes / 4; i++) mine[i] = rank * 100 + i;
        MPI_Win_sync(win);
        MPI_Barrier(comm);
        MPI_Win_sync(win);
        int *expected = NULL;
        for (int of = 0; of < size; of++) {
            SAME(MPI_Win_shared_query(win, of, &found, &unit, &theirs), MPI_SUCCESS);
            SAME(found, of == 1 ? 0 : 64 * sizeof(int));
            SAME(unit, sizeof(int));
            for (int i = 0; i < found / 4; i++) SAME(theirs[i], of * 100 + i);
            if (found && !first) first = theirs;
            if (!apart && found && expected) CHECK(theirs == expected);
            if (found) expected = theirs + 64;
        }
        MPI_Aint large;
        SAME(MPI_Win_shared_query_c(win, MPI_PROC_NULL, &found, &large, &theirs), MPI_SUCCESS);
        CHECK(theirs == first && large == sizeof(int));
        MPI_Win_unlock_all(win);
        MPI_Win_free(&win);
    }
}

/* Displacements count in the target's units, of which each member has its own; nobody is nobody's target. */
static void units(void)
{
    int unit = rank % 3 + 1, value = 77;
    char *memory = calloc(3, 100);
    MPI_Win win;
    MPI_Win_create_c(memory, 300, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    int target = (rank + 1) % size;
    char byte = (char)(rank + 1);
    MPI_Put(&byte, 1, MPI_CHAR, target, 50, 1, MPI_CHAR, win);
    SAME(MPI_Put(&value, 1, MPI_INT, MPI_PROC_NULL, 1 << 20, 1, MPI_INT, win), MPI_SUCCESS);
    SAME(MPI_Get(&value, 1, MPI_INT, MPI_PROC_NULL, 1 << 20, 1, MPI_INT, win), MPI_SUCCESS);
    SAME(value, 77);
    MPI_Win_fence(0, win);
    for (int i = 0; i < 300; i++) SAME(memory[i], i == 50 * unit ? (rank + size - 1) % size + 1 : 0);
    MPI_Win_free(&win);
    free(memory);
}

/* Large pieces, and many windows one after the other. */
static void large(int many, int together)
{
    unsigned char *data = malloc(many), *back = malloc(many);
    for (int kind = 0; kind < KINDS; kind++) {
        if (kind == 2 && !together) continue;
        struct window w = make(kind, many);
        int target = (rank + 1) % size;
        fill(data, many, rank, kind);
        MPI_Win_lock(MPI_LOCK_SHARED, target, 0, w.win);
        SAME(MPI_Put(data, many, MPI_BYTE, target, w.origin[target], many, MPI_BYTE, w.win), MPI_SUCCESS);
        MPI_Win_flush(target, w.win);
        SAME(MPI_Get(back, many, MPI_BYTE, target, w.origin[target], many, MPI_BYTE, w.win), MPI_SUCCESS);
        MPI_Win_unlock(target, w.win);
        SAME(differs(back, many, rank, kind), -1);
        MPI_Barrier(MPI_COMM_WORLD);
        SAME(differs(w.base, many, (rank + size - 1) % size, kind), -1);
        unmake(&w);
    }
    free(data);
    free(back);
    for (int i = 0; i < 50; i++) {
        struct window w = make(i % KINDS == 2 && !together ? 1 : i % KINDS, 4096);
        unmake(&w);
    }
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Comm near;
    int neighbours_there;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &near);
    MPI_Comm_size(near, &neighbours_there);
    int together = neighbours_there == size;
    for (int kind = 0; kind < KINDS; kind++) {
        if (kind == 2 && !together) continue;
        facts(kind);
        for (int how = 0; how < SYNCHRONISATIONS; how++) neighbours(kind, how);
        scattered(kind);
    }
    shared(near);
    MPI_Comm_free(&near);
    units();
    large(argc > 1 ? atoi(argv[1]) : 3 << 20, together);
    return conclude();
}
