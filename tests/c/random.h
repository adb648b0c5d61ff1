/* What the random testers share: numbers from a seed, layouts of elements in memory, buffers of
 * which every byte is compared, and threads that do the same steps beside each other. */
#ifndef RANDOM_H
#define RANDOM_H

#include "check.h"
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>

enum { GUARD = 64, MOST_THREADS = 8 };

static unsigned long long seed = 1;
static int steps = 100, threads = 1;

/* What one thread of every rank does with the same numbers. */
struct job {
    MPI_Comm comm;
    int thread, step;
};

/* Numbers that are the same wherever the state began as the same. */
struct draw {
    uint64_t state;
};

static inline uint64_t mixed(uint64_t x)
{
    x ^= x >> 30, x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27, x *= 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static inline uint64_t number(struct draw *from)
{
    return mixed(from->state += 0x9e3779b97f4a7c15u);
}

static inline int draw(struct draw *from, long below)
{
    return (int)(number(from) % (uint64_t)below);
}

/* Of a step, for all ranks. */
static inline struct draw of_step(const struct job *job)
{
    uint64_t place = (uint64_t)job->step * 64 + (uint64_t)job->thread;
    return (struct draw){mixed(seed * 0x51ed270b1u + place)};
}

static inline void wrong(const struct job *job, const char *format, ...)
{
    char text[400];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    if (count_failure())
        fprintf(stderr, "rank %d of %d, seed %llu, step %d, thread %d: %s\n", rank, size, seed,
                job->step, job->thread, text);
}

/* The bytes of an element. */
static inline void value(uint64_t key, long element, unsigned char *to, int bytes)
{
    uint64_t word = mixed(key + (uint64_t)element * 0x9e3779b97f4a7c15u);
    for (int at = 0; at < bytes; at += 8, word = mixed(word))
        memcpy(to + at, &word, (size_t)(bytes - at < 8 ? bytes - at : 8));
}

static inline uint64_t key_of(uint64_t key, int side, int from, int to)
{
    return mixed(key + (uint64_t)side * 1000003u + (uint64_t)from * 1009u + (uint64_t)to);
}

/* How the elements of a block lie in memory, and the type that says so. */
struct layout {
    MPI_Datatype type;
    int count, bytes, is_made;
    long elements, extent, low, high; /* of a block */
    long *at;                         /* of each element, none if they are beside each other */
};

enum { LAYOUTS = 10 };

static inline struct layout plain(long elements, MPI_Datatype element, int bytes)
{
    long extent = elements * bytes;
    return (struct layout){element, (int)elements, bytes, 0, elements, extent, 0, extent, NULL};
}

static inline struct layout laid_out(int kind, long n, MPI_Datatype element, int bytes,
                                     struct draw *from)
{
    struct layout made = plain(n, element, bytes);
    MPI_Aint lower, extent;
    struct draw own = {number(from)};
    if (kind == 0 || n == 0 || ((kind == 4 || kind == 5) && n > 2000)) return made;
    long *at = made.at = malloc(sizeof *at * (size_t)n);
    made.is_made = made.count = 1;
    for (long i = 0; i < n; i++) at[i] = i * bytes;
    switch (kind) {
    case 1:
        for (long i = 0; i < n; i++) at[i] *= 2;
        MPI_Type_vector((int)n, 1, 2, element, &made.type);
        break;
    case 2:
    case 3:
    case 9: { /* wide, backwards, with a lower bound that is not zero */
        int stride = kind == 2 ? 3 * bytes : kind == 3 ? -bytes : 2 * bytes;
        for (long i = 0; i < n; i++) at[i] = i * stride;
        MPI_Type_create_resized(element, kind == 9 ? -4 * bytes : 0, stride, &made.type);
        made.count = (int)n;
        break;
    }
    case 4:
    case 5: { /* in reverse; mixed up with gaps and extents that are too long */
        MPI_Aint *places = malloc(sizeof *places * (size_t)n);
        long place = kind == 4 ? 0 : -bytes * draw(&own, 5);
        for (long i = 0; i < n; i++, place += bytes)
            at[i] = place += kind == 4 ? 0 : bytes * draw(&own, 2);
        for (long i = 0; i < n; i++) {
            long other = kind == 4 ? n - 1 - i : draw(&own, n), kept = at[i];
            if (kind == 4 && other <= i) break;
            at[i] = at[other], at[other] = kept;
        }
        for (long i = 0; i < n; i++) places[i] = at[i];
        MPI_Type_create_hindexed_block((int)n, 1, places, element, &made.type);
        free(places);
        break;
    }
    case 6: {
        int sizes[2] = {3, (int)n}, part[2] = {1, (int)n}, start[2] = {1, 0};
        for (long i = 0; i < n; i++) at[i] += n * bytes;
        MPI_Type_create_subarray(2, sizes, part, start, MPI_ORDER_C, element, &made.type);
        break;
    }
    case 7: { /* a type of types */
        MPI_Datatype inner;
        int group = n % 4 == 0 ? 4 : n % 3 == 0 ? 3 : 1;
        for (long i = 0; i < n; i++) at[i] = (i / group * (group + 2) + i % group) * bytes;
        MPI_Type_vector(1, group, group, element, &inner);
        MPI_Type_create_resized(inner, 0, (group + 2) * bytes, &made.type);
        MPI_Type_free(&inner);
        made.count = (int)(n / group);
        break;
    }
    default:
        for (long i = 0; i < n; i++) at[i] *= -2;
        MPI_Type_create_hvector((int)n, 1, -2 * bytes, element, &made.type);
    }
    MPI_Type_commit(&made.type);
    MPI_Type_get_extent(made.type, &lower, &extent);
    made.extent = extent * made.count;
    made.low = made.high = at[0];
    for (long i = 0; i < n; i++) {
        if (at[i] < made.low) made.low = at[i];
        if (at[i] + bytes > made.high) made.high = at[i] + bytes;
    }
    return made;
}

static inline void forget(struct layout *made)
{
    if (made->is_made) MPI_Type_free(&made->type);
    free(made->at);
}

static inline long place_in(const struct layout *made, long block, long element)
{
    return block * made->extent + (made->at ? made->at[element] : element * made->bytes);
}

/* Memory, and what has to be in it in the end, around of the elements too. */
struct room {
    unsigned char *memory, *expected;
    long bytes, origin;
};

static inline struct room room_for(const struct layout *made, long blocks)
{
    struct room room;
    long low = made->low, high = made->high, last = (blocks - 1) * made->extent;
    if (blocks <= 0) low = high = 0;
    else if (last > 0) high += last;
    else low += last;
    if (low > 0) low = 0;
    if (high < 0) high = 0;
    room.origin = GUARD + (-low + 15) / 16 * 16;
    room.bytes = room.origin + high + GUARD;
    room.memory = malloc((size_t)room.bytes), room.expected = malloc((size_t)room.bytes);
    memset(room.memory, 0xa5, (size_t)room.bytes);
    memset(room.expected, 0xa5, (size_t)room.bytes);
    return room;
}

static inline void *start_of(const struct room *room) { return room->memory + room->origin; }

/* The element is to have this value in the end. */
static inline void want(struct room *room, const struct layout *made, long block, long element,
                        const void *bytes)
{
    memcpy(room->expected + room->origin + place_in(made, block, element), bytes,
           (size_t)made->bytes);
}

/* The element has this value now. */
static inline void set(struct room *room, const struct layout *made, long block, long element,
                       const void *bytes)
{
    memcpy(room->memory + room->origin + place_in(made, block, element), bytes,
           (size_t)made->bytes);
}

/* All elements of a block, now or in the end. */
static inline void want_block(struct room *room, const struct layout *made, long block,
                              uint64_t key)
{
    unsigned char bytes[32];
    for (long i = 0; i < made->elements; i++) {
        value(key, i, bytes, made->bytes);
        want(room, made, block, i, bytes);
    }
}

static inline void set_block(struct room *room, const struct layout *made, long block, uint64_t key)
{
    unsigned char bytes[32];
    for (long i = 0; i < made->elements; i++) {
        value(key, i, bytes, made->bytes);
        set(room, made, block, i, bytes);
    }
}

static inline void check_room(const struct job *job, const struct room *room, const char *what)
{
    if (memcmp(room->memory, room->expected, (size_t)room->bytes) == 0) return;
    long at = 0;
    while (room->memory[at] == room->expected[at]) at++;
    wrong(job, "%s: byte %ld is 0x%02x, expected 0x%02x", what, at - room->origin, room->memory[at],
          room->expected[at]);
}

static inline void free_room(struct room *room)
{
    /* Whoever still reads or writes it finds something else. */
    memset(room->memory, 0x3c, (size_t)room->bytes);
    free(room->memory);
    free(room->expected);
}

/* Short ones mostly, and some on both sides of every threshold. */
static inline long some_length(struct draw *from, long most)
{
    static const long around[] = {0,    16,   64,    128,   256,    512,    2048,
                                  4096, 8192, 16384, 65536, 131072, 1048576};
    int kind = draw(from, 64);
    long most_of_kind = kind < 36   ? 30
                        : kind < 54 ? around[1 + draw(from, 5)]
                        : kind < 63 ? around[6 + draw(from, 4)]
                                    : around[9 + draw(from, 4)];
    long chosen =
        most_of_kind <= 30 ? draw(from, most_of_kind + 1) : most_of_kind - 3 + draw(from, 7);
    return chosen <= most ? chosen : chosen % (most + 1);
}

/* Runs the steps in every thread, between what is made before and freed after all of them. Usage of all testers: SEED [STEPS [THREADS]]. */
static inline int run_jobs(int argc, char **argv, void *(*work)(void *), void (*made)(void),
                           void (*free_made)(void))
{
    static struct job jobs[MOST_THREADS];
    pthread_t running[MOST_THREADS];
    int provided;
    if (argc > 1) seed = strtoull(argv[1], NULL, 10);
    if (argc > 2) steps = atoi(argv[2]);
    if (argc > 3) threads = atoi(argv[3]);
    if (threads < 1 || threads > MOST_THREADS) threads = 1;
    MPI_Init_thread(&argc, &argv, threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(threads == 1 || provided == MPI_THREAD_MULTIPLE);
    for (int i = 0; i < threads; i++) {
        jobs[i].thread = i;
        MPI_Comm_dup(MPI_COMM_WORLD, &jobs[i].comm);
    }
    if (made) made();
    for (int i = 1; i < threads; i++) pthread_create(&running[i], NULL, work, &jobs[i]);
    work(&jobs[0]);
    for (int i = 1; i < threads; i++) pthread_join(running[i], NULL);
    if (free_made) free_made();
    for (int i = 0; i < threads; i++) MPI_Comm_free(&jobs[i].comm);
    if (failures > 0)
        fprintf(stderr, "rank %d of %d: seed %llu, %d steps, %d threads: %d failures\n", rank, size,
                seed, steps, threads, failures);
    return conclude();
}

#endif
