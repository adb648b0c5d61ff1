/* Derived datatypes: layouts, bounds, contents, and data that travels through them to this very process. */
#include "expect.h"
#include <stddef.h>

struct particle {
    double position[3];
    int kind;
    char name[3];
};

/* Sends one element of `from` and receives it as `count` elements of `to`. */
static void move(const void *in, MPI_Datatype from, void *out, int count, MPI_Datatype to) {
    MPI_Request request;
    MPI_Irecv(out, count, to, 0, 0, MPI_COMM_SELF, &request);
    MPI_Send(in, 1, from, 0, 0, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void bounds(MPI_Datatype datatype, MPI_Aint lower, MPI_Aint extent, int size, int line) {
    MPI_Aint got_lower, got_extent;
    int got_size;
    MPI_Type_get_extent(datatype, &got_lower, &got_extent);
    MPI_Type_size(datatype, &got_size);
    if (got_lower != lower || got_extent != extent || got_size != size) {
        printf("line %d: lower bound %td, extent %td, size %d\n", line, got_lower, got_extent, got_size);
        failures++;
    }
}

int main(int argc, char **argv) {
    int matrix[4][5], out[20], lengths[3] = {2, 1, 3}, places[3] = {5, 0, 2}, position = 0;
    int integers, addresses, types, combiner, contents[4];
    char packed[64];
    MPI_Datatype column, columns, some, record, part, inner[1];
    struct particle sent = {{1, 2, 3}, 4, "ab"}, got = {{0, 0, 0}, 0, ""};

    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (int i = 0; i < 20; i++) matrix[i / 5][i % 5] = i;

    MPI_Type_vector(4, 1, 5, MPI_INT, &column);
    MPI_Type_commit(&column);
    bounds(column, 0, 16 * sizeof(int), 4 * sizeof(int), __LINE__);
    move(&matrix[0][1], column, out, 4, MPI_INT);
    for (int i = 0; i < 4; i++) EXPECT(out[i] == 5 * i + 1);
    MPI_Type_get_envelope(column, &integers, &addresses, &types, &combiner);
    EXPECT(integers == 3 && addresses == 0 && types == 1 && combiner == MPI_COMBINER_VECTOR);
    MPI_Type_get_contents(column, 3, 0, 1, contents, NULL, inner);
    EXPECT(contents[0] == 4 && contents[1] == 1 && contents[2] == 5 && inner[0] == MPI_INT);

    /* Columns that lie side by side: a transposition. */
    MPI_Type_create_resized(column, 0, sizeof(int), &part);
    bounds(part, 0, sizeof(int), 4 * sizeof(int), __LINE__);
    MPI_Type_contiguous(5, part, &columns);
    MPI_Type_commit(&columns);
    move(matrix, columns, out, 20, MPI_INT);
    for (int i = 0; i < 20; i++) EXPECT(out[i] == 5 * (i % 4) + i / 4);
    MPI_Type_free(&part);
    MPI_Type_free(&columns);

    MPI_Type_indexed(3, lengths, places, MPI_INT, &some);
    MPI_Type_commit(&some);
    bounds(some, 0, 7 * sizeof(int), 6 * sizeof(int), __LINE__);
    move(matrix, some, out, 6, MPI_INT);
    EXPECT(out[0] == 5 && out[1] == 6 && out[2] == 0 && out[3] == 2 && out[5] == 4);
    MPI_Type_free(&some);

    int blocks[3] = {3, 1, 3};
    MPI_Aint at[3] = {offsetof(struct particle, position), offsetof(struct particle, kind), offsetof(struct particle, name)};
    MPI_Datatype kinds[3] = {MPI_DOUBLE, MPI_INT, MPI_CHAR};
    MPI_Type_create_struct(3, blocks, at, kinds, &record);
    MPI_Type_commit(&record);
    bounds(record, 0, sizeof(struct particle), 3 * sizeof(double) + sizeof(int) + 3, __LINE__);
    move(&sent, record, &got, 1, record);
    EXPECT(got.position[2] == 3 && got.kind == 4 && strcmp(got.name, "ab") == 0);
    MPI_Pack(&sent, 1, record, packed, sizeof packed, &position, MPI_COMM_SELF);
    EXPECT(position == 31);
    memset(&got, 0, sizeof got);
    position = 0;
    MPI_Unpack(packed, sizeof packed, &position, &got, 1, record, MPI_COMM_SELF);
    EXPECT(position == 31 && got.position[0] == 1 && got.name[1] == 'b');
    EXPECT_ERROR(MPI_Pack(&sent, 3, record, packed, sizeof packed, &position, MPI_COMM_SELF), MPI_ERR_TRUNCATE, "64");
    MPI_Type_free(&record);

    int sizes[2] = {4, 5}, subsizes[2] = {2, 3}, starts[2] = {1, 2};
    MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_INT, &part);
    MPI_Type_commit(&part);
    bounds(part, 0, sizeof matrix, 6 * sizeof(int), __LINE__);
    move(matrix, part, out, 6, MPI_INT);
    EXPECT(out[0] == 7 && out[2] == 9 && out[3] == 12 && out[5] == 14);
    MPI_Type_free(&part);

    /* A handle freed while another type is made of it, and absolute addresses. */
    MPI_Aint here;
    MPI_Get_address(matrix, &here);
    MPI_Type_create_hindexed_block(1, 2, &here, MPI_INT, &part);
    MPI_Type_commit(&part);
    move(MPI_BOTTOM, part, out, 2, MPI_INT);
    EXPECT(out[1] == 1);
    MPI_Type_free(&part);
    MPI_Type_free(&column);
    MPI_Finalize();
    return failures;
}
