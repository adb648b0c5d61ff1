/* Arrays that are dealt out to processes, the representation that all machines understand, Fortran's parameterised kinds, pairs by their
 * halves, and datatypes of very many blocks. */
#include "check.h"
#include <time.h>

#include <stdint.h>

enum { ROWS = 7, COLUMNS = 10 };

/* Who owns an index of a dimension. */
static int owner(int index, int elements, int processes, int way, int darg)
{
    if (way == MPI_DISTRIBUTE_NONE) return 0;
    if (way == MPI_DISTRIBUTE_BLOCK) {
        int block = darg == MPI_DISTRIBUTE_DFLT_DARG ? (elements + processes - 1) / processes : darg;
        return index / block;
    }
    return index / (darg == MPI_DISTRIBUTE_DFLT_DARG ? 1 : darg) % processes;
}

static void deal(int way0, int darg0, int way1, int darg1, int p0, int p1, int order)
{
    int gsizes[] = {ROWS, COLUMNS}, ways[] = {way0, way1}, dargs[] = {darg0, darg1}, grid[] = {p0, p1};
    MPI_Count gsizes_c[] = {ROWS, COLUMNS};
    int covered[ROWS * COLUMNS] = {0}, memory[ROWS * COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS; i++) memory[i] = i;
    for (int process = 0; process < p0 * p1; process++) {
        MPI_Datatype small, large;
        MPI_Aint lb, extent;
        int bytes, position = 0, packed[ROWS * COLUMNS], expected[ROWS * COLUMNS], n = 0;
        MPI_Type_create_darray(p0 * p1, process, 2, gsizes, ways, dargs, grid, order, MPI_INT, &small);
        MPI_Type_create_darray_c(p0 * p1, process, 2, gsizes_c, ways, dargs, grid, order, MPI_INT, &large);
        MPI_Type_get_extent(small, &lb, &extent);
        SAME(lb, 0);
        SAME(extent, sizeof memory);
        int c0 = process / p1, c1 = process % p1;
        int outer = order == MPI_ORDER_C ? ROWS : COLUMNS, inner = order == MPI_ORDER_C ? COLUMNS : ROWS;
        for (int i = 0; i < outer; i++)
            for (int j = 0; j < inner; j++) {
                int row = order == MPI_ORDER_C ? i : j, column = order == MPI_ORDER_C ? j : i;
                if (owner(row, ROWS, p0, way0, darg0) != c0 || owner(column, COLUMNS, p1, way1, darg1) != c1) continue;
                expected[n++] = i * inner + j;
                covered[i * inner + j]++;
            }
        MPI_Type_size(small, &bytes);
        SAME(bytes, 4 * n);
        MPI_Type_commit(&small);
        MPI_Type_commit(&large);
        MPI_Pack(memory, 1, small, packed, sizeof packed, &position, MPI_COMM_SELF);
        SAME(position, 4 * n);
        for (int i = 0; i < n; i++) SAME(packed[i], expected[i]);
        memset(packed, 0, sizeof packed);
        position = 0;
        MPI_Pack(memory, 1, large, packed, sizeof packed, &position, MPI_COMM_SELF);
        for (int i = 0; i < n; i++) SAME(packed[i], expected[i]);

        int integers, addresses, types, combiner, told[16];
        MPI_Aint none;
        MPI_Count numbers[4], counts[2];
        MPI_Datatype inside;
        MPI_Type_get_envelope(small, &integers, &addresses, &types, &combiner);
        SAME(combiner, MPI_COMBINER_DARRAY);
        SAME(integers, 4 * 2 + 4);
        SAME(addresses, 0);
        SAME(types, 1);
        MPI_Type_get_contents(small, 16, 0, 1, told, &none, &inside);
        int asked[] = {p0 * p1, process, 2, ROWS, COLUMNS, way0, way1, darg0, darg1, p0, p1, order};
        for (int i = 0; i < 12; i++) SAME(told[i], asked[i]);
        CHECK(inside == MPI_INT);
        MPI_Type_get_envelope_c(large, &numbers[0], &numbers[1], &numbers[2], &numbers[3], &combiner);
        SAME(numbers[0], 3 * 2 + 4);
        SAME(numbers[2], 2);
        MPI_Type_get_contents_c(large, 16, 0, 2, 1, told, &none, counts, &inside);
        SAME(counts[0], ROWS);
        SAME(counts[1], COLUMNS);
        SAME(told[3], way0);
        MPI_Type_free(&small);
        MPI_Type_free(&large);
    }
    for (int i = 0; i < ROWS * COLUMNS; i++) SAME(covered[i], 1);
}

static void dealt_arrays(void)
{
    const int block = MPI_DISTRIBUTE_BLOCK, cyclic = MPI_DISTRIBUTE_CYCLIC, none = MPI_DISTRIBUTE_NONE;
    const int usual = MPI_DISTRIBUTE_DFLT_DARG, orders[] = {MPI_ORDER_C, MPI_ORDER_FORTRAN};
    for (int i = 0; i < 2; i++) {
        deal(block, usual, block, usual, 2, 3, orders[i]);
        deal(cyclic, usual, cyclic, 3, 3, 2, orders[i]);
        deal(cyclic, 2, block, 6, 2, 2, orders[i]);
        deal(none, usual, cyclic, 4, 1, 4, orders[i]);
        deal(block, 7, none, usual, 4, 1, orders[i]);
    }
    MPI_Datatype type;
    int gsizes[] = {4}, ways[] = {block}, dargs[] = {1}, grid[] = {2};
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    CHECK(MPI_Type_create_darray(2, 0, 1, gsizes, ways, dargs, grid, MPI_ORDER_C, MPI_INT, &type) != MPI_SUCCESS);
    CHECK(MPI_Type_create_darray(3, 0, 1, gsizes, ways, dargs, grid, MPI_ORDER_C, MPI_INT, &type) != MPI_SUCCESS);
    dargs[0] = usual;
    CHECK(MPI_Type_create_darray(2, 2, 1, gsizes, ways, dargs, grid, MPI_ORDER_C, MPI_INT, &type) != MPI_SUCCESS);
    CHECK(MPI_Type_create_darray(2, 0, 1, gsizes, ways, dargs, grid, 5, MPI_INT, &type) != MPI_SUCCESS);
    ways[0] = none;
    CHECK(MPI_Type_create_darray(2, 0, 1, gsizes, ways, dargs, grid, MPI_ORDER_C, MPI_INT, &type) != MPI_SUCCESS);
    ways[0] = 99;
    CHECK(MPI_Type_create_darray(2, 0, 1, gsizes, ways, dargs, grid, MPI_ORDER_C, MPI_INT, &type) != MPI_SUCCESS);
}

/* There and back through external32; the first bytes there are `head`. */
static void external(MPI_Datatype type, void *values, int count, size_t bytes, int each, const unsigned char *head)
{
    unsigned char there[256], back[256];
    MPI_Aint room, position = 0;
    MPI_Count room_c, position_c = 0;
    MPI_Pack_external_size("external32", count, type, &room);
    SAME(room, each * count);
    MPI_Pack_external_size_c("external32", count, type, &room_c);
    SAME(room_c, each * count);
    MPI_Pack_external("external32", values, count, type, there, room, &position);
    SAME(position, each * count);
    for (int i = 0; head && i < each; i++) SAME(there[i], head[i]);
    memset(back, 0, sizeof back);
    position = 0;
    MPI_Unpack_external("external32", there, room, &position, back, count, type);
    SAME(position, each * count);
    SAME(memcmp(back, values, bytes), 0);
    memset(there, 0, sizeof there);
    MPI_Pack_external_c("external32", values, count, type, there, room_c, &position_c);
    SAME(position_c, each * count);
    memset(back, 0, sizeof back);
    position_c = 0;
    MPI_Unpack_external_c("external32", there, room_c, &position_c, back, count, type);
    SAME(memcmp(back, values, bytes), 0);
    position = 1;
    CHECK(MPI_Pack_external("external32", values, count, type, there, room, &position) != MPI_SUCCESS);
    CHECK(MPI_Pack_external("native", values, count, type, there, room, &position) != MPI_SUCCESS);
}

static void external_forms(void)
{
    int ints[] = {-2, 7};
    long longs[] = {-3, 2000000000};
    double doubles[] = {1.0, -0.5};
    static long double wide[] = {1.5L, -3.25e4000L}; /* static: the bytes behind the numbers are zero */
    short shorts[] = {258, -1};
    external(MPI_INT, ints, 2, sizeof ints, 4, (unsigned char[]){255, 255, 255, 254});
    external(MPI_LONG, longs, 2, sizeof longs, 4, (unsigned char[]){255, 255, 255, 253});
    external(MPI_DOUBLE, doubles, 2, sizeof doubles, 8, (unsigned char[]){63, 240, 0, 0, 0, 0, 0, 0});
    external(MPI_SHORT, shorts, 2, sizeof shorts, 2, (unsigned char[]){1, 2});
    external(MPI_LONG_DOUBLE, wide, 2, sizeof wide, 16, (unsigned char[]){63, 255, 128, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
    struct {
        short s;
        int i;
    } pairs[2];
    memset(pairs, 0, sizeof pairs);
    pairs[0].s = 1, pairs[0].i = 2, pairs[1].s = 3, pairs[1].i = 4;
    external(MPI_SHORT_INT, pairs, 2, sizeof pairs, 6, (unsigned char[]){0, 1, 0, 0, 0, 2});
    MPI_Datatype every_other;
    int row[] = {10, 0, 30, 0};
    MPI_Type_vector(2, 1, 2, MPI_INT, &every_other);
    MPI_Type_commit(&every_other);
    external(every_other, row, 1, sizeof row, 8, (unsigned char[]){0, 0, 0, 10, 0, 0, 0, 30});
    MPI_Type_free(&every_other);
}

static void parameterised(void)
{
    MPI_Datatype real, again, complex, integer;
    int bytes, integers, addresses, types, combiner, told[2], name_length;
    char name[MPI_MAX_OBJECT_NAME];
    MPI_Aint none;
    MPI_Type_create_f90_real(12, 200, &real);
    MPI_Type_create_f90_real(12, 200, &again);
    CHECK(real == again);
    MPI_Type_size(real, &bytes);
    SAME(bytes, 8);
    MPI_Type_create_f90_complex(5, MPI_UNDEFINED, &complex);
    MPI_Type_size(complex, &bytes);
    SAME(bytes, 8);
    MPI_Type_create_f90_integer(10, &integer);
    MPI_Type_size(integer, &bytes);
    SAME(bytes, 8);
    MPI_Type_get_envelope(real, &integers, &addresses, &types, &combiner);
    SAME(combiner, MPI_COMBINER_F90_REAL);
    SAME(integers, 2);
    SAME(types, 0);
    MPI_Type_get_contents(real, 2, 0, 0, told, &none, &again);
    SAME(told[0], 12);
    SAME(told[1], 200);
    MPI_Type_get_envelope(integer, &integers, &addresses, &types, &combiner);
    SAME(combiner, MPI_COMBINER_F90_INTEGER);
    SAME(integers, 1);
    MPI_Type_get_name(integer, name, &name_length);
    SAME(name_length, 0);
    again = real;
    CHECK(MPI_Type_free(&again) != MPI_SUCCESS);
    CHECK(MPI_Type_create_f90_real(40, 1, &again) != MPI_SUCCESS);
    CHECK(MPI_Type_create_f90_real(MPI_UNDEFINED, MPI_UNDEFINED, &again) != MPI_SUCCESS);
    CHECK(MPI_Type_create_f90_integer(39, &again) != MPI_SUCCESS);
    double mine = rank + 1, sum = 0;
    MPI_Allreduce(&mine, &sum, 1, real, MPI_SUM, MPI_COMM_WORLD);
    SAME(sum, size * (size + 1) / 2);
}

static void pairs_by_their_halves(void)
{
    MPI_Datatype pair;
    MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &pair);
    CHECK(pair == MPI_DOUBLE_INT);
    MPI_Type_get_value_index(MPI_INT, MPI_INT, &pair);
    CHECK(pair == MPI_2INT);
    MPI_Type_get_value_index(MPI_CHAR, MPI_DOUBLE, &pair);
    CHECK(pair == MPI_DATATYPE_NULL);
}

/* Of this thread: on a busy machine others have the processor, too. */
static double processor_time(void)
{
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
}

/* Ten million blocks take no time and no memory to describe, and any part of them none to find. */
static void many_blocks(void)
{
    MPI_Datatype column;
    MPI_Count bytes;
    double start = processor_time();
    for (int i = 0; i < 1000; i++) {
        MPI_Type_vector(10000000, 1, 100, MPI_DOUBLE, &column);
        MPI_Type_size_c(column, &bytes);
        SAME(bytes, 80000000);
        MPI_Type_free(&column);
    }
    CHECK(processor_time() - start < 1.0);
}

/* A message in a scattered type that comes in very many pieces: time grows with its length and not with the square of it. */
static void in_pieces(void)
{
    enum { BLOCKS = 400000 };
    MPI_Datatype list;
    int *places = malloc(BLOCKS * sizeof *places);
    char *room = calloc(BLOCKS, 3);
    for (int i = 0; i < BLOCKS; i++) places[i] = 3 * i + (i % 7 == 0);
    MPI_Type_create_indexed_block(BLOCKS, 1, places, MPI_CHAR, &list);
    MPI_Type_commit(&list);
    double start = processor_time();
    if (rank == 0) {
        for (int i = 0; i < BLOCKS; i++) room[places[i]] = (char)(i * 31);
        if (size > 1) MPI_Send(room, 1, list, 1, 0, MPI_COMM_WORLD);
    } else if (rank == 1) {
        MPI_Recv(room, 1, list, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        int wrong = 0;
        for (int i = 0; i < BLOCKS; i++) wrong += room[places[i]] != (char)(i * 31);
        SAME(wrong, 0);
    }
    CHECK(processor_time() - start < 2.0);
    MPI_Type_free(&list);
    free(places);
    free(room);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    dealt_arrays();
    external_forms();
    parameterised();
    pairs_by_their_halves();
    many_blocks();
    in_pieces();
    return conclude();
}
