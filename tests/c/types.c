/* Datatypes: constructors in both forms, how they are taken apart, extents, and basic elements in statuses. */
#include "check.h"

#include <stddef.h>
#include <stdint.h>

typedef struct {
    int i;
    double d;
} record;

/* What a constructor was told: integers, addresses, large counts; -1 ends a list. */
enum { LONGEST = 12 };
typedef struct {
    int integers[LONGEST];
    MPI_Aint addresses[LONGEST];
    MPI_Count counts[LONGEST];
} told;

static int length(const told *what, int list)
{
    int n = 0;
    while (list == 0 ? what->integers[n] != -1 : list == 1 ? what->addresses[n] != -1 : what->counts[n] != -1) n++;
    return n;
}

static void expect_contents(MPI_Datatype type, int combiner, const told *what, int types)
{
    int integers[LONGEST], found, small_numbers[4], ni = length(what, 0), na = length(what, 1), nc = length(what, 2);
    MPI_Aint addresses[LONGEST];
    MPI_Count counts[LONGEST], n[4];
    MPI_Datatype parts[LONGEST];
    MPI_Type_get_envelope_c(type, &n[0], &n[1], &n[2], &n[3], &found);
    SAME(found, combiner);
    SAME(n[0], ni);
    SAME(n[1], na);
    SAME(n[2], nc);
    SAME(n[3], types);
    MPI_Type_get_contents_c(type, LONGEST, LONGEST, LONGEST, LONGEST, integers, addresses, counts, parts);
    for (int i = 0; i < ni; i++) SAME(integers[i], what->integers[i]);
    for (int i = 0; i < na; i++) SAME(addresses[i], what->addresses[i]);
    for (int i = 0; i < nc; i++) SAME(counts[i], what->counts[i]);
    CHECK(parts[0] == MPI_INT);
    /* Section 5.1.13: the small form cannot tell of large counts. */
    int code = MPI_Type_get_envelope(type, &small_numbers[0], &small_numbers[1], &small_numbers[2], &found);
    SAME(code == MPI_SUCCESS, nc == 0);
    if (nc > 0) {
        code = MPI_Type_get_contents(type, LONGEST, LONGEST, LONGEST, integers, addresses, parts);
        CHECK(code != MPI_SUCCESS);
    } else {
        SAME(small_numbers[0], ni);
        memset(integers, 0, sizeof integers);
        MPI_Type_get_contents(type, LONGEST, LONGEST, LONGEST, integers, addresses, parts);
        for (int i = 0; i < ni; i++) SAME(integers[i], what->integers[i]);
        for (int i = 0; i < na; i++) SAME(addresses[i], what->addresses[i]);
        if (ni > 0) CHECK(MPI_Type_get_contents(type, ni - 1, LONGEST, LONGEST, integers, addresses, parts) != MPI_SUCCESS);
    }
}

/* Bounds by every function that tells them, and where the data lies, by packing integers that know their place. */
static void expect_layout(MPI_Datatype *type, MPI_Count lb, MPI_Count extent, int n, const int *places)
{
    MPI_Aint small_lb, small_extent;
    MPI_Count found_lb, found_extent, bytes_c, position_c = 0, room_c;
    int memory[64], packed[64], back[64], position = 0, room, bytes;
    int first = places[0], last = places[0];
    for (int i = 0; i < n; i++) {
        if (places[i] < first) first = places[i];
        if (places[i] > last) last = places[i];
    }
    MPI_Type_get_extent(*type, &small_lb, &small_extent);
    SAME(small_lb, lb);
    SAME(small_extent, extent);
    MPI_Type_get_extent_x(*type, &found_lb, &found_extent);
    SAME(found_lb, lb);
    SAME(found_extent, extent);
    MPI_Type_get_extent_c(*type, &found_lb, &found_extent);
    SAME(found_lb, lb);
    SAME(found_extent, extent);
    MPI_Type_get_true_extent(*type, &small_lb, &small_extent);
    SAME(small_lb, 4 * first);
    SAME(small_extent, 4 * (last + 1 - first));
    MPI_Type_get_true_extent_x(*type, &found_lb, &found_extent);
    SAME(found_lb, 4 * first);
    SAME(found_extent, 4 * (last + 1 - first));
    MPI_Type_get_true_extent_c(*type, &found_lb, &found_extent);
    SAME(found_lb, 4 * first);
    SAME(found_extent, 4 * (last + 1 - first));
    MPI_Type_size(*type, &bytes);
    SAME(bytes, 4 * n);
    MPI_Type_size_x(*type, &bytes_c);
    SAME(bytes_c, 4 * n);
    MPI_Type_size_c(*type, &bytes_c);
    SAME(bytes_c, 4 * n);
    MPI_Type_commit(type);
    for (int i = 0; i < 64; i++) memory[i] = i;
    MPI_Pack_size(1, *type, MPI_COMM_WORLD, &room);
    MPI_Pack_size_c(1, *type, MPI_COMM_WORLD, &room_c);
    CHECK(room >= 4 * n && room_c >= 4 * n);
    MPI_Pack(memory, 1, *type, packed, sizeof packed, &position, MPI_COMM_WORLD);
    SAME(position, 4 * n);
    for (int i = 0; i < n; i++) SAME(packed[i], places[i]);
    memset(packed, 0, sizeof packed);
    MPI_Pack_c(memory, 1, *type, packed, sizeof packed, &position_c, MPI_COMM_WORLD);
    SAME(position_c, 4 * n);
    memset(back, -1, sizeof back);
    position_c = position = 0;
    MPI_Unpack_c(packed, sizeof packed, &position_c, back, 1, *type, MPI_COMM_WORLD);
    for (int i = 0; i < n; i++) SAME(back[places[i]], places[i]);
    memset(back, -1, sizeof back);
    MPI_Unpack(packed, sizeof packed, &position, back, 1, *type, MPI_COMM_WORLD);
    for (int i = 0; i < n; i++) SAME(back[places[i]], places[i]);
    MPI_Type_free(type);
    CHECK(*type == MPI_DATATYPE_NULL);
}

static void constructors(void)
{
    MPI_Datatype type;
    const int lengths[2] = {2, 1}, places[2] = {4, 1};
    const MPI_Count large_lengths[2] = {2, 1}, large_places[2] = {4, 1}, byte_counts[2] = {16, 4};
    const MPI_Aint bytes[2] = {16, 4};
    const MPI_Datatype ints[2] = {MPI_INT, MPI_INT};
    const int sizes[2] = {3, 4}, parts[2] = {2, 2}, starts[2] = {1, 1};
    const MPI_Count large_sizes[2] = {3, 4}, large_parts[2] = {2, 2}, large_starts[2] = {1, 1};
#define END {-1}

    MPI_Type_contiguous(3, MPI_INT, &type);
    expect_contents(type, MPI_COMBINER_CONTIGUOUS, &(told){{3, -1}, END, END}, 1);
    expect_layout(&type, 0, 12, 3, (int[]){0, 1, 2});
    MPI_Type_contiguous_c(3, MPI_INT, &type);
    expect_contents(type, MPI_COMBINER_CONTIGUOUS, &(told){END, END, {3, -1}}, 1);
    expect_layout(&type, 0, 12, 3, (int[]){0, 1, 2});

    MPI_Type_vector(2, 2, 3, MPI_INT, &type);
    expect_contents(type, MPI_COMBINER_VECTOR, &(told){{2, 2, 3, -1}, END, END}, 1);
    expect_layout(&type, 0, 20, 4, (int[]){0, 1, 3, 4});
    MPI_Type_vector_c(2, 2, 3, MPI_INT, &type);
    expect_contents(type, MPI_COMBINER_VECTOR, &(told){END, END, {2, 2, 3, -1}}, 1);
    expect_layout(&type, 0, 20, 4, (int[]){0, 1, 3, 4});

    MPI_Type_create_hvector(2, 1, 20, MPI_INT, &type);
    expect_contents(type, MPI_COMBINER_HVECTOR, &(told){{2, 1, -1}, {20, -1}, END}, 1);
    expect_layout(&type, 0, 24, 2, (int[]){0, 5});
    MPI_Type_create_hvector_c(2, 1, 20, MPI_INT, &type);
    expect_contents(type, MPI_COMBINER_HVECTOR, &(told){END, END, {2, 1, 20, -1}}, 1);
    expect_layout(&type, 0, 24, 2, (int[]){0, 5});

    MPI_Type_indexed(2, lengths, places, MPI_INT, &type);
    expect_contents(type, MPI_COMBINER_INDEXED, &(told){{2, 2, 1, 4, 1, -1}, END, END}, 1);
    expect_layout(&type, 4, 20, 3, (int[]){4, 5, 1});
    MPI_Type_indexed_c(2, large_lengths, large_places, MPI_INT, &type);
    expect_contents(type, MPI_COMBINER_INDEXED, &(told){END, END, {2, 2, 1, 4, 1, -1}}, 1);
    expect_layout(&type, 4, 20, 3, (int[]){4, 5, 1});

    MPI_Type_create_hindexed(2, lengths, bytes, MPI_INT, &type);
    expect_contents(type, MPI_COMBINER_HINDEXED, &(told){{2, 2, 1, -1}, {16, 4, -1}, END}, 1);
    expect_layout(&type, 4, 20, 3, (int[]){4, 5, 1});
    MPI_Type_create_hindexed_c(2, large_lengths, byte_counts, MPI_INT, &type);
    expect_contents(type, MPI_COMBINER_HINDEXED, &(told){END, END, {2, 2, 1, 16, 4, -1}}, 1);
    expect_layout(&type, 4, 20, 3, (int[]){4, 5, 1});

    MPI_Type_create_indexed_block(2, 2, places, MPI_INT, &type);
    expect_contents(type, MPI_COMBINER_INDEXED_BLOCK, &(told){{2, 2, 4, 1, -1}, END, END}, 1);
    expect_layout(&type, 4, 20, 4, (int[]){4, 5, 1, 2});
    MPI_Type_create_indexed_block_c(2, 2, large_places, MPI_INT, &type);
    expect_contents(type, MPI_COMBINER_INDEXED_BLOCK, &(told){END, END, {2, 2, 4, 1, -1}}, 1);
    expect_layout(&type, 4, 20, 4, (int[]){4, 5, 1, 2});

    MPI_Type_create_hindexed_block(2, 1, bytes, MPI_INT, &type);
    expect_contents(type, MPI_COMBINER_HINDEXED_BLOCK, &(told){{2, 1, -1}, {16, 4, -1}, END}, 1);
    expect_layout(&type, 4, 16, 2, (int[]){4, 1});
    MPI_Type_create_hindexed_block_c(2, 1, byte_counts, MPI_INT, &type);
    expect_contents(type, MPI_COMBINER_HINDEXED_BLOCK, &(told){END, END, {2, 1, 16, 4, -1}}, 1);
    expect_layout(&type, 4, 16, 2, (int[]){4, 1});

    MPI_Type_create_struct(2, lengths, bytes, ints, &type);
    expect_contents(type, MPI_COMBINER_STRUCT, &(told){{2, 2, 1, -1}, {16, 4, -1}, END}, 2);
    expect_layout(&type, 4, 20, 3, (int[]){4, 5, 1});
    MPI_Type_create_struct_c(2, large_lengths, byte_counts, ints, &type);
    expect_contents(type, MPI_COMBINER_STRUCT, &(told){END, END, {2, 2, 1, 16, 4, -1}}, 2);
    expect_layout(&type, 4, 20, 3, (int[]){4, 5, 1});

    MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &type);
    expect_contents(type, MPI_COMBINER_SUBARRAY, &(told){{2, 3, 4, 2, 2, 1, 1, MPI_ORDER_C, -1}, END, END}, 1);
    expect_layout(&type, 0, 48, 4, (int[]){5, 6, 9, 10});
    MPI_Type_create_subarray_c(2, large_sizes, large_parts, large_starts, MPI_ORDER_FORTRAN, MPI_INT, &type);
    expect_contents(type, MPI_COMBINER_SUBARRAY, &(told){{2, MPI_ORDER_FORTRAN, -1}, END, {3, 4, 2, 2, 1, 1, -1}}, 1);
    expect_layout(&type, 0, 48, 4, (int[]){4, 5, 7, 8});

    MPI_Type_create_resized(MPI_INT, 0, 12, &type);
    expect_contents(type, MPI_COMBINER_RESIZED, &(told){END, {0, 12, -1}, END}, 1);
    expect_layout(&type, 0, 12, 1, (int[]){0});
    MPI_Type_create_resized_c(MPI_INT, -4, 12, &type);
    expect_contents(type, MPI_COMBINER_RESIZED, &(told){END, END, {-4, 12, -1}}, 1);
    expect_layout(&type, -4, 12, 1, (int[]){0});

    MPI_Type_dup(MPI_INT, &type);
    expect_contents(type, MPI_COMBINER_DUP, &(told){END, END, END}, 1);
    expect_layout(&type, 0, 4, 1, (int[]){0});
}

/* Numbers that no int holds. */
static void large_numbers(void)
{
    const MPI_Count huge = 3LL << 32;
    MPI_Datatype type, again;
    MPI_Count n[4], bytes, counts[3], lb, extent;
    int combiner, small;
    MPI_Aint small_lb, small_extent;
    MPI_Type_contiguous_c(huge, MPI_BYTE, &type);
    MPI_Type_get_envelope_c(type, &n[0], &n[1], &n[2], &n[3], &combiner);
    SAME(n[0], 0);
    SAME(n[2], 1);
    MPI_Type_get_contents_c(type, 0, 0, 1, 1, NULL, NULL, counts, &again);
    SAME(counts[0], huge);
    CHECK(again == MPI_BYTE);
    MPI_Type_size_c(type, &bytes);
    SAME(bytes, huge);
    MPI_Type_size(type, &small);
    SAME(small, MPI_UNDEFINED);
    MPI_Type_get_extent_c(type, &lb, &extent);
    SAME(extent, huge);
    MPI_Type_get_extent(type, &small_lb, &small_extent);
    SAME(small_extent, huge);
    /* Beyond 64 bits: an error, and no type. */
    CHECK(MPI_Type_vector_c(2, 1, 1LL << 33, type, &again) != MPI_SUCCESS);
    CHECK(MPI_Type_contiguous_c(1LL << 33, type, &again) != MPI_SUCCESS);
    CHECK(MPI_Type_create_hvector_c(2, 1LL << 40, 1, type, &again) != MPI_SUCCESS);
    CHECK(MPI_Type_create_hindexed_c(2, (MPI_Count[]){1, 1}, (MPI_Count[]){0, INT64_MAX - 1}, type, &again) != MPI_SUCCESS);
    CHECK(MPI_Type_indexed_c(1, (MPI_Count[]){1}, (MPI_Count[]){INT64_MIN / 2}, type, &again) != MPI_SUCCESS);
    CHECK(MPI_Type_create_subarray_c(3, (MPI_Count[]){1LL << 31, 1LL << 31, 4}, (MPI_Count[]){1, 1, 1}, (MPI_Count[]){0, 0, 0},
                                     MPI_ORDER_C, MPI_INT, &again) != MPI_SUCCESS);
    /* Nested: the parts come back as handles that the program frees. */
    MPI_Type_vector_c(2, 1, 1LL << 20, type, &again);
    MPI_Type_free(&type);
    MPI_Type_get_contents_c(again, 0, 0, 3, 1, NULL, NULL, counts, &type);
    SAME(counts[2], 1LL << 20);
    MPI_Type_size_c(type, &bytes);
    SAME(bytes, huge);
    MPI_Type_free(&type);
    MPI_Type_free(&again);
}

static MPI_Datatype make_record(void)
{
    MPI_Datatype type;
    MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){offsetof(record, i), offsetof(record, d)},
                           (MPI_Datatype[]){MPI_INT, MPI_DOUBLE}, &type);
    MPI_Type_commit(&type);
    return type;
}

static void expect_elements(const MPI_Status *status, MPI_Datatype type, int elements, int count)
{
    int found = -2;
    MPI_Count large = -2;
    MPI_Get_elements(status, type, &found);
    SAME(found, elements);
    MPI_Get_elements_x(status, type, &large);
    SAME(large, elements);
    large = -2;
    MPI_Get_elements_c(status, type, &large);
    SAME(large, elements);
    MPI_Get_count(status, type, &found);
    SAME(found, count);
    MPI_Get_count_c(status, type, &large);
    SAME(large, count);
}

/* A message of this many values of a type, received as values of another. */
static MPI_Status message(int n, MPI_Datatype sent, int capacity, MPI_Datatype received)
{
    static double from[64], to[64];
    MPI_Status status;
    MPI_Sendrecv(from, n, sent, rank, 1, to, capacity, received, rank, 1, MPI_COMM_WORLD, &status);
    return status;
}

static void elements(void)
{
    MPI_Datatype type = make_record(), three, ends, nothing, pairs[] = {MPI_FLOAT_INT, MPI_DOUBLE_INT, MPI_LONG_INT, MPI_2INT,
                                                                       MPI_SHORT_INT, MPI_LONG_DOUBLE_INT};
    MPI_Status status = message(3, type, 3, type);
    expect_elements(&status, type, 6, 3);
    status = message(0, type, 3, type);
    expect_elements(&status, type, 0, 0);
    /* An int, a double, an int: one record and a half. */
    MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, sizeof(record)}, (MPI_Datatype[]){type, MPI_INT}, &ends);
    MPI_Type_commit(&ends);
    status = message(1, ends, 3, type);
    expect_elements(&status, type, 3, MPI_UNDEFINED);
    expect_elements(&status, ends, 3, 1);
    /* Of a contiguous type of records, the same message. */
    MPI_Type_contiguous(3, type, &three);
    MPI_Type_commit(&three);
    status = message(3, type, 1, three);
    expect_elements(&status, three, 6, 1);
    status = message(1, ends, 1, three);
    expect_elements(&status, three, 3, MPI_UNDEFINED);
    /* Bytes that end within an element. */
    status = message(7, MPI_PACKED, 2, type);
    expect_elements(&status, type, MPI_UNDEFINED, MPI_UNDEFINED);
    for (unsigned i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        status = message(2, pairs[i], 3, pairs[i]);
        expect_elements(&status, pairs[i], 4, 2);
    }
    status = message(2, MPI_C_DOUBLE_COMPLEX, 2, MPI_C_DOUBLE_COMPLEX);
    expect_elements(&status, MPI_C_DOUBLE_COMPLEX, 2, 2);

    /* Set: MPI_Get_elements gives what was set, and MPI_Get_count what fits (section 13.3). */
    for (int n = 0; n < 14; n++) {
        MPI_Status_set_elements(&status, type, n);
        expect_elements(&status, type, n, n % 2 ? MPI_UNDEFINED : n / 2);
        MPI_Status_set_elements_x(&status, three, n);
        expect_elements(&status, three, n, n % 6 ? MPI_UNDEFINED : n / 6);
        MPI_Status_set_elements(&status, MPI_DOUBLE_INT, n);
        expect_elements(&status, MPI_DOUBLE_INT, n, n % 2 ? MPI_UNDEFINED : n / 2);
    }
    MPI_Status_set_elements_x(&status, MPI_INT, 5LL << 32);
    MPI_Count large;
    int small;
    MPI_Get_elements_x(&status, MPI_INT, &large);
    SAME(large, 5LL << 32);
    MPI_Get_elements(&status, MPI_INT, &small);
    SAME(small, MPI_UNDEFINED);
    MPI_Get_count(&status, MPI_INT, &small);
    SAME(small, MPI_UNDEFINED);
    MPI_Get_count_c(&status, MPI_INT, &large);
    SAME(large, 5LL << 32);

    /* A type without data. */
    MPI_Type_contiguous(0, MPI_INT, &nothing);
    MPI_Type_commit(&nothing);
    status = message(2, nothing, 2, nothing);
    expect_elements(&status, nothing, 0, 0);
    MPI_Type_free(&nothing);
    MPI_Type_free(&three);
    MPI_Type_free(&ends);
    MPI_Type_free(&type);
}

static void status_fields(void)
{
    MPI_Status status;
    int source, tag, error, cancelled;
    MPI_Status_set_source(&status, 4);
    MPI_Status_set_tag(&status, 5);
    MPI_Status_set_error(&status, MPI_ERR_TRUNCATE);
    MPI_Status_set_elements(&status, MPI_INT, 0);
    MPI_Status_set_cancelled(&status, 1);
    MPI_Status_get_source(&status, &source);
    MPI_Status_get_tag(&status, &tag);
    MPI_Status_get_error(&status, &error);
    MPI_Test_cancelled(&status, &cancelled);
    CHECK(source == 4 && tag == 5 && error == MPI_ERR_TRUNCATE && cancelled);
    CHECK(status.MPI_SOURCE == 4 && status.MPI_TAG == 5 && status.MPI_ERROR == MPI_ERR_TRUNCATE);
}

static void addresses_and_matches(void)
{
    int array[4];
    MPI_Aint first, last;
    MPI_Datatype type;
    MPI_Get_address(&array[0], &first);
    MPI_Get_address(&array[3], &last);
    SAME(MPI_Aint_diff(last, first), 12);
    CHECK(MPI_Aint_add(first, 12) == last);
    MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &type);
    CHECK(type == MPI_REAL8);
    MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 2, &type);
    CHECK(type == MPI_INTEGER2);
    MPI_Type_match_size(MPI_TYPECLASS_COMPLEX, 8, &type);
    CHECK(type == MPI_COMPLEX8);
    CHECK(MPI_Type_match_size(MPI_TYPECLASS_REAL, 3, &type) != MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    constructors();
    large_numbers();
    elements();
    status_fields();
    addresses_and_matches();
    return conclude();
}
