/* Random accesses to a file against a model: usage: random_files SEED [STEPS [THREADS [FILE]]].
 *
 * All ranks draw the same accesses of all, and every rank has the bytes that the file should have.
 * Views give every rank parts of its own, or all ranks have the same and keep to a part of it, so
 * that no two write the same byte. In the end the system reads the file, too. */
#include "random.h"
#include <unistd.h>

enum { LIMIT = 1 << 16, MOST_RANKS = 64, MOST = 4, LARGEST = 4096 };
enum pointers { EXPLICIT, INDIVIDUAL, ORDERED, ONE_SHARED, POINTERS };
enum form { BLOCKING, LATER, SPLIT };
static const char *const pointers_of[] = {"explicit offset", "own pointer", "ordered",
                                          "shared pointer"};
static const char *const forms[] = {"blocking", "non-blocking", "split"};

/* What a rank sees: elements at places of a tile, which is repeated. */
struct view {
    long n, extent, start, *at; /* no places: one element after the other */
    long first, end;            /* the elements that this rank keeps to */
};

struct state {
    struct job *job;
    MPI_File file;
    char name[300];
    unsigned char *model;
    long length, pointers[MOST_RANKS], shared;
    struct view views[MOST_RANKS];
    int bytes, is_swapped, is_common, is_atomic;
    struct draw mine;
};

struct access {
    long n, place;
    struct layout layout;
    struct room room;
    MPI_Request request;
    MPI_Status status;
};

static char given_name[256];

static MPI_Datatype element_of(int bytes)
{
    return bytes == 1 ? MPI_BYTE : bytes == 2 ? MPI_UINT16_T : bytes == 4 ? MPI_INT : MPI_DOUBLE;
}

static long byte_at(const struct state *s, const struct view *v, long element)
{
    if (!v->at) return v->start + element * s->bytes;
    return v->start + element / v->n * v->extent + v->at[element % v->n];
}

/* The file of this type holds a two-dimensional array, of which a rank has what the distribution
 * gives it; returns its elements. */
static long darray(const struct state *s, int of, const int *sizes, const int *kinds,
                   const int *blocks, const int *grid, MPI_Datatype *type, long *at)
{
    int arguments[2];
    long n = 0;
    for (int i = 0; i < 2; i++)
        arguments[i] = kinds[i] == MPI_DISTRIBUTE_CYCLIC ? blocks[i] : MPI_DISTRIBUTE_DFLT_DARG;
    if (type)
        MPI_Type_create_darray(size, of, 2, sizes, kinds, arguments, grid, MPI_ORDER_C,
                               element_of(s->bytes), type);
    for (int row = 0; row < sizes[0]; row++)
        for (int column = 0; column < sizes[1]; column++) {
            int is_mine = 1, place[2] = {row, column}, coordinate[2] = {of / grid[1], of % grid[1]};
            for (int i = 0; i < 2; i++) {
                int block = kinds[i] == MPI_DISTRIBUTE_CYCLIC ? blocks[i]
                                                              : (sizes[i] + grid[i] - 1) / grid[i];
                is_mine &= place[i] / block % grid[i] == coordinate[i];
            }
            if (is_mine) at[n++] = ((long)row * sizes[1] + column) * s->bytes;
        }
    return n;
}

/* The view of one rank: its places, and its type if it is this rank's own. */
static void look(struct state *s, int of, int kind, struct draw from, MPI_Datatype *type)
{
    struct view *v = &s->views[of];
    MPI_Datatype element = element_of(s->bytes), inner;
    int each = 1 + draw(&from, 6), rows = 2 + draw(&from, 4), is_mine = of == rank;
    int sizes[2] = {rows * size, each * size + draw(&from, 3)},
        blocks[2] = {1 + draw(&from, 2), each}, grid[2] = {1, size};
    int dealt[2] = {draw(&from, 2) ? MPI_DISTRIBUTE_CYCLIC : MPI_DISTRIBUTE_BLOCK,
                    draw(&from, 2) ? MPI_DISTRIBUTE_CYCLIC : MPI_DISTRIBUTE_BLOCK};
    if (draw(&from, 2)) grid[0] = size, grid[1] = 1;
    else if (size % 2 == 0 && draw(&from, 2)) grid[0] = 2, grid[1] = size / 2;
    *v = (struct view){.n = 1, .extent = s->bytes, .start = draw(&from, 100)};
    if (kind == 0) return;
    v->at = malloc(sizeof *v->at * (size_t)(sizes[0] * sizes[1] + 64));
    v->n = 0;
    switch (kind) {
    case 1: { /* in turns, and a gap */
        int gap = draw(&from, 3);
        MPI_Aint place = (MPI_Aint)of * each * s->bytes;
        for (int i = 0; i < each; i++) v->at[v->n++] = place + i * s->bytes;
        v->extent = (long)(each * size + gap) * s->bytes;
        if (!is_mine) return;
        MPI_Type_create_hindexed_block(1, each, &place, element, &inner);
        MPI_Type_create_resized(inner, 0, v->extent, type);
        MPI_Type_free(&inner);
        break;
    }
    case 2: v->n = darray(s, of, sizes, dealt, blocks, grid, is_mine ? type : NULL, v->at); break;
    case 3: { /* columns */
        int all[2] = {rows, each * size}, part[2] = {rows, each}, start[2] = {0, of * each};
        sizes[0] = rows, sizes[1] = each * size;
        for (int i = 0; i < rows * each; i++)
            v->at[v->n++] = ((long)(i / each) * all[1] + start[1] + i % each) * s->bytes;
        if (is_mine) MPI_Type_create_subarray(2, all, part, start, MPI_ORDER_C, element, type);
        break;
    }
    default: { /* of all, with gaps */
        MPI_Aint places[64];
        long place = 0;
        for (int i = 0; i < each * rows; i++, place += s->bytes) {
            place += draw(&from, 3) * s->bytes;
            places[i] = v->at[v->n++] = place;
        }
        v->extent = place + draw(&from, 4) * s->bytes;
        if (!is_mine) return;
        MPI_Type_create_hindexed_block(each * rows, 1, places, element, &inner);
        MPI_Type_create_resized(inner, 0, v->extent, type);
        MPI_Type_free(&inner);
    }
    }
    if (kind == 2 || kind == 3) v->extent = (long)sizes[0] * sizes[1] * s->bytes;
    if (is_mine) MPI_Type_commit(type);
}

static void set_view(struct state *s, struct draw *from)
{
    struct draw shape = {number(from)};
    MPI_Datatype type;
    int kind = draw(from, 5), is_full = 1;
    s->bytes = 1 << draw(from, 4), s->is_swapped = draw(from, 4) == 0;
    type = element_of(s->bytes);
    s->is_common = kind == 0 || kind == 4;
    for (int i = 0; i < size; i++) {
        free(s->views[i].at);
        look(s, i, kind, shape, &type);
        is_full &= s->views[i].n > 0;
    }
    if (!is_full) { /* a distribution that gives a rank nothing */
        if (type != element_of(s->bytes)) MPI_Type_free(&type);
        type = element_of(s->bytes), s->is_common = 1;
        for (int i = 0; i < size; i++) free(s->views[i].at), look(s, i, 0, shape, &type);
    } else if (kind && s->views[rank].at && type == element_of(s->bytes))
        wrong(s->job, "a view without a type");
    for (int i = 0; i < size; i++) {
        struct view *v = &s->views[i];
        long all = (LIMIT - v->start) / v->extent * v->n, each = all / size;
        v->first = s->is_common ? i * each : 0, v->end = s->is_common ? v->first + each : all;
        s->pointers[i] = 0;
    }
    s->shared = 0;
    if (type != element_of(s->bytes)) MPI_Type_commit(&type);
    MPI_File_set_view(s->file, s->views[rank].start, element_of(s->bytes), type,
                      s->is_swapped ? "external32" : "native", MPI_INFO_NULL);
    if (type != element_of(s->bytes)) MPI_Type_free(&type);
}

/* What one wrote is seen by all from here on. */
static void settle(struct state *s)
{
    if (!s->is_atomic) MPI_File_sync(s->file);
    MPI_Barrier(s->job->comm);
    if (!s->is_atomic) MPI_File_sync(s->file);
}

static void swapped(const struct state *s, unsigned char *to, const unsigned char *from)
{
    for (int i = 0; i < s->bytes; i++) to[i] = from[s->is_swapped ? s->bytes - 1 - i : i];
}

static void write_model(struct state *s, int of, long place, long n, uint64_t key)
{
    unsigned char bytes[32];
    for (long i = 0; i < n; i++) {
        long at = byte_at(s, &s->views[of], place + i);
        value(key, i, bytes, s->bytes);
        swapped(s, s->model + at, bytes);
        if (at + s->bytes > s->length) s->length = at + s->bytes;
    }
}

/* How many of these elements lie before the end of the file. */
static long found(const struct state *s, const struct view *v, long place, long n)
{
    long i = 0;
    while (i < n && byte_at(s, v, place + i) + s->bytes <= s->length) i++;
    return i;
}

/* How many elements a read finds before the end of the file; expects them in the room. */
static long read_model(struct state *s, struct access *a, int *ends_within)
{
    unsigned char bytes[32];
    *ends_within = 0;
    for (long i = 0; i < a->n; i++) {
        long at = byte_at(s, &s->views[rank], a->place + i);
        if (at + s->bytes > s->length) {
            *ends_within = at < s->length;
            return i;
        }
        swapped(s, bytes, s->model + at);
        want(&a->room, &a->layout, 0, i, bytes);
    }
    return a->n;
}

#define EVERY(verb, ...)                                                             \
    switch (pointers * 6 + form * 2 + together) {                                    \
    case 0: MPI_File_##verb##_at(f, a->place, __VA_ARGS__, status); break;           \
    case 1: MPI_File_##verb##_at_all(f, a->place, __VA_ARGS__, status); break;       \
    case 2: MPI_File_i##verb##_at(f, a->place, __VA_ARGS__, &a->request); break;     \
    case 3: MPI_File_i##verb##_at_all(f, a->place, __VA_ARGS__, &a->request); break; \
    case 4:                                                                          \
    case 5:                                                                          \
        MPI_File_##verb##_at_all_begin(f, a->place, __VA_ARGS__);                    \
        MPI_File_##verb##_at_all_end(f, start_of(&a->room), status);                 \
        break;                                                                       \
    case 6: MPI_File_##verb(f, __VA_ARGS__, status); break;                          \
    case 7: MPI_File_##verb##_all(f, __VA_ARGS__, status); break;                    \
    case 8: MPI_File_i##verb(f, __VA_ARGS__, &a->request); break;                    \
    case 9: MPI_File_i##verb##_all(f, __VA_ARGS__, &a->request); break;              \
    case 10:                                                                         \
    case 11:                                                                         \
        MPI_File_##verb##_all_begin(f, __VA_ARGS__);                                 \
        MPI_File_##verb##_all_end(f, start_of(&a->room), status);                    \
        break;                                                                       \
    case 12:                                                                         \
    case 13:                                                                         \
    case 14:                                                                         \
    case 15: MPI_File_##verb##_ordered(f, __VA_ARGS__, status); break;               \
    case 16:                                                                         \
    case 17:                                                                         \
        MPI_File_##verb##_ordered_begin(f, __VA_ARGS__);                             \
        MPI_File_##verb##_ordered_end(f, start_of(&a->room), status);                \
        break;                                                                       \
    case 20:                                                                         \
    case 21: MPI_File_i##verb##_shared(f, __VA_ARGS__, &a->request); break;          \
    default: MPI_File_##verb##_shared(f, __VA_ARGS__, status);                       \
    }

static void call(struct state *s, struct access *a, int writes, enum pointers pointers,
                 enum form form, int together)
{
    MPI_File f = s->file;
    MPI_Status *status = &a->status;
    a->request = MPI_REQUEST_NULL;
    if (writes) EVERY(write, start_of(&a->room), a->layout.count, a->layout.type)
    else EVERY(read, start_of(&a->room), a->layout.count, a->layout.type)
}

static void check_access(struct state *s, struct access *a, int writes, const char *what)
{
    int count, ends_within = 0;
    long expected = writes ? a->n : read_model(s, a, &ends_within);
    MPI_Get_elements(&a->status, a->layout.type, &count);
    if (ends_within) { /* a part of an element may be there */
        long at = a->room.origin + place_in(&a->layout, 0, expected);
        memcpy(a->room.expected + at, a->room.memory + at, (size_t)s->bytes);
    } else if (a->n > 0 && count != expected)
        wrong(s->job, "%s: %d elements, expected %ld of %ld at %ld, file of %ld", what, count,
              expected, a->n, a->place, s->length);
    check_room(s->job, &a->room, what);
}

/* Every rank accesses what it draws, as all ranks know. */
static void access_file(struct state *s, struct draw *from)
{
    struct access accesses[MOST];
    int writes = draw(from, 2), together = draw(from, 2), count = 1 + draw(from, MOST),
        only = draw(from, size);
    enum pointers pointers = (enum pointers)draw(from, s->is_common ? POINTERS : ORDERED);
    enum form form = (enum form)draw(from, together ? 3 : 2);
    uint64_t key = number(from);
    if (form == SPLIT) together = 1;
    int accessed = 0;
    for (int round = 0; round < count; round++) {
        for (int of = 0; of < size; of++) {
            const struct view *v = &s->views[of];
            long room = v->end - v->first,
                 n = some_length(from, room / 4 < LARGEST ? room / 4 : LARGEST),
                 place = draw(from, room - n + 1);
            int seeks = draw(from, 4) == 0;
            if (pointers == EXPLICIT) {
                if (!writes && draw(from, 3) == 0)
                    place = draw(from, room); /* behind the end, maybe */
                else place = v->first + (place / count / 2 + room / count * round) % (room - n + 1);
                if (writes && n > room / count / 2) n = room / count / 2;
                if (writes)
                    place = v->first + room / count * round + place % (room / count / 2 + 1);
            } else if (pointers == INDIVIDUAL) {
                if (seeks || s->pointers[of] + n > v->end || s->pointers[of] < v->first) {
                    /* No later one of this step writes where an earlier one does. */
                    long low = round && s->pointers[of] >= v->first ? s->pointers[of] : v->first;
                    place = low + (v->end - low > n ? draw(from, v->end - low - n + 1) : 0);
                    if (place + n > v->end) n = v->end - place;
                    if (of == rank) MPI_File_seek(s->file, place, MPI_SEEK_SET);
                    s->pointers[of] = place;
                }
                place = s->pointers[of];
                /* A blocking read that meets the end leaves the pointer there. */
                s->pointers[of] += !writes && form == BLOCKING ? found(s, v, place, n) : n;
            } else {
                if (pointers == ONE_SHARED && of != only) continue;
                long all = s->views[0].end * size;
                n %= all / size / MOST + 1;
                if (of == 0 || pointers == ONE_SHARED) {
                    long most = pointers == ORDERED ? (all / size / MOST + 1) * size : n;
                    if (s->shared + most > all && round > 0)
                        return (void)wrong(s->job, "the tester has no room");
                }
                place = s->shared;
                s->shared += n;
            }
            uint64_t own = key_of(key, round, of, 0);
            if (writes) write_model(s, of, place, n, own);
            if (of != rank) continue;
            struct access *a = &accesses[accessed++];
            a->n = n, a->place = place;
            a->layout =
                laid_out(draw(&s->mine, LAYOUTS), n, element_of(s->bytes), s->bytes, &s->mine);
            a->room = room_for(&a->layout, 1);
            if (writes)
                set_block(&a->room, &a->layout, 0, own), want_block(&a->room, &a->layout, 0, own);
            call(s, a, writes, pointers, form, together);
        }
    }
    char text[160];
    snprintf(text, sizeof text, "%s, %s, %s%s, elements of %d bytes%s%s", writes ? "write" : "read",
             pointers_of[pointers], forms[form], together ? ", collective" : "", s->bytes,
             s->is_swapped ? ", external32" : "", s->is_atomic ? ", atomic" : "");
    int backwards = draw(&s->mine, 2);
    for (int i = 0; i < accessed; i++) {
        struct access *a = &accesses[backwards ? accessed - 1 - i : i];
        if (a->request != MPI_REQUEST_NULL) MPI_Wait(&a->request, &a->status);
    }
    for (int i = 0; i < accessed; i++) {
        check_access(s, &accesses[i], writes, text);
        free_room(&accesses[i].room), forget(&accesses[i].layout);
    }
    settle(s);
}

static void check_places(struct state *s)
{
    MPI_Offset length, place, byte;
    MPI_File_get_size(s->file, &length);
    if (length != s->length)
        wrong(s->job, "the file has %lld bytes, expected %ld", (long long)length, s->length);
    MPI_File_get_position(s->file, &place);
    if (place != s->pointers[rank])
        wrong(s->job, "the own pointer is %lld, expected %ld", (long long)place, s->pointers[rank]);
    MPI_File_get_byte_offset(s->file, place, &byte);
    if (byte != byte_at(s, &s->views[rank], place))
        wrong(s->job, "element %lld is byte %lld", (long long)place, (long long)byte);
    if (!s->is_common) return;
    MPI_File_get_position_shared(s->file, &place);
    if (place != s->shared)
        wrong(s->job, "the shared pointer is %lld, expected %ld", (long long)place, s->shared);
}

static void open_file(struct state *s, struct draw *from)
{
    MPI_File_open(s->job->comm, s->name, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &s->file);
    MPI_File_set_errhandler(s->file, MPI_ERRORS_ARE_FATAL);
    s->is_atomic = draw(from, 4) == 0;
    MPI_File_set_atomicity(s->file, s->is_atomic);
    set_view(s, from);
}

/* The file as the system reads it. */
static void close_file(struct state *s)
{
    MPI_File_close(&s->file);
    MPI_Barrier(s->job->comm);
    if (rank == 0) {
        FILE *file = fopen(s->name, "rb");
        unsigned char *bytes = malloc(2 * LIMIT);
        long length = file ? (long)fread(bytes, 1, 2 * LIMIT, file) : -1, at = 0;
        if (length != s->length)
            wrong(s->job, "the closed file has %ld bytes, expected %ld", length, s->length);
        while (at < length && at < s->length && bytes[at] == s->model[at]) at++;
        if (at < length && at < s->length)
            wrong(s->job, "byte %ld of the closed file is 0x%02x, expected 0x%02x", at, bytes[at],
                  s->model[at]);
        if (file) fclose(file);
        free(bytes);
    }
    MPI_Barrier(s->job->comm);
}

static void step(struct state *s)
{
    struct draw from = of_step(s->job);
    long length = draw(&from, LIMIT);
    switch (draw(&from, 24)) {
    case 0:
        MPI_File_set_size(s->file, length);
        memset(s->model + length, 0, (size_t)(2 * LIMIT - length));
        s->length = length;
        settle(s);
        break;
    case 1:
        MPI_File_preallocate(s->file, length);
        if (length > s->length) s->length = length;
        settle(s);
        break;
    case 2:
        close_file(s);
        open_file(s, &from);
        break;
    case 3:
        MPI_File_set_atomicity(s->file, s->is_atomic = !s->is_atomic);
        settle(s);
        break;
    case 4:
    case 5:
    case 6: set_view(s, &from); break;
    default: break;
    }
    /* Room for a step of ordered accesses. */
    if (s->is_common && (draw(&from, 8) == 0 || s->shared > s->views[0].end * size / 3)) {
        s->shared = draw(&from, s->views[0].end * size / 4 + 1);
        MPI_File_seek_shared(s->file, s->shared, MPI_SEEK_SET);
    }
    MPI_Barrier(s->job->comm);
    check_places(s);
    MPI_Barrier(s->job->comm);
    access_file(s, &from);
}

static void *work(void *given)
{
    struct state *s = calloc(1, sizeof *s);
    s->job = given;
    s->mine = (struct draw){mixed(seed * 43 + (uint64_t)rank * 64 + (uint64_t)s->job->thread)};
    struct draw from = {mixed(seed * 47 + (uint64_t)s->job->thread)};
    s->model = calloc(2, LIMIT);
    if (rank == 0 && given_name[0])
        snprintf(s->name, sizeof s->name, "%s.%d", given_name, s->job->thread);
    else if (rank == 0) {
        const char *folder = getenv("TMPDIR")                ? getenv("TMPDIR")
                             : access("/dev/shm", W_OK) == 0 ? "/dev/shm"
                                                             : "/tmp";
        snprintf(s->name, sizeof s->name, "%s/corelace-random-XXXXXX", folder);
        close(mkstemp(s->name));
    }
    if (rank == 0) unlink(s->name);
    MPI_Bcast(s->name, sizeof s->name, MPI_CHAR, 0, s->job->comm);
    open_file(s, &from);
    for (s->job->step = 0; s->job->step < steps; s->job->step++) step(s);
    close_file(s);
    if (rank == 0 && failures == 0) unlink(s->name);
    for (int i = 0; i < size; i++) free(s->views[i].at);
    free(s->model);
    free(s);
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc > 4) snprintf(given_name, sizeof given_name, "%s", argv[4]);
    return run_jobs(argc, argv, work, NULL, NULL);
}
