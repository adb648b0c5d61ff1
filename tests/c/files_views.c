/* Views of many forms against what the library's own packing makes of them; two-phase and sieved access under all hints; representations of data. */
#include "files.h"

/* A block-cyclic matrix of size x size ranks' blocks: what every rank has of it. */
static MPI_Datatype cyclic(int member, int rows, int columns, int block)
{
    int sizes[2] = {rows, columns}, distributions[2] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_CYCLIC};
    int arguments[2] = {block, block}, grid[2] = {0, 0};
    MPI_Datatype type;
    MPI_Dims_create(size, 2, grid);
    MPI_Type_create_darray(size, member, 2, sizes, distributions, arguments, grid, MPI_ORDER_C, MPI_INT, &type);
    MPI_Type_commit(&type);
    return type;
}

static MPI_Info hints_of(int form)
{
    static const char *keys[] = {"romio_cb_write", "romio_cb_read", "romio_ds_write", "romio_ds_read"};
    static const char *values[][4] = {{"automatic", "automatic", "automatic", "automatic"},
                                      {"enable", "enable", "enable", "enable"},
                                      {"disable", "disable", "enable", "enable"},
                                      {"disable", "disable", "disable", "disable"},
                                      {"enable", "disable", "automatic", "automatic"}};
    MPI_Info info;
    MPI_Info_create(&info);
    for (int i = 0; i < 4; i++) MPI_Info_set(info, keys[i], values[form][i]);
    /* Small numbers, so that there are several windows and aggregators. */
    MPI_Info_set(info, "cb_buffer_size", "3000");
    MPI_Info_set(info, "striping_unit", "512");
    MPI_Info_set(info, "cb_nodes", "3");
    MPI_Info_set(info, "ind_rd_buffer_size", "1000");
    MPI_Info_set(info, "ind_wr_buffer_size", "700");
    return info;
}

/* Each rank writes its blocks of a matrix whose elements are their own numbers, and reads those of the next rank. */
static void matrix(int form, int rows, int columns, int block, int together)
{
    MPI_File fh = fresh(MPI_MODE_RDWR);
    MPI_Info info = hints_of(form);
    MPI_Datatype mine = cyclic(rank, rows, columns, block), theirs = cyclic((rank + 1) % size, rows, columns, block);
    int bytes, other, position = 0;
    int *numbers = malloc(rows * columns * sizeof(int)), *packed = malloc(rows * columns * sizeof(int));
    int *expected = malloc(rows * columns * sizeof(int));
    MPI_Status status;
    for (int i = 0; i < rows * columns; i++) numbers[i] = i * 3 + 1;
    MPI_Type_size(mine, &bytes);
    MPI_Type_size(theirs, &other);
    MPI_Pack(numbers, 1, mine, packed, rows * columns * sizeof(int), &position, MPI_COMM_WORLD);
    SAME(position, bytes);
    SAME(MPI_File_set_view(fh, 40, MPI_INT, mine, "native", info), MPI_SUCCESS);
    if (together)
        SAME(MPI_File_write_all(fh, packed, bytes / 4, MPI_INT, &status), MPI_SUCCESS);
    else
        SAME(MPI_File_write(fh, packed, bytes / 4, MPI_INT, &status), MPI_SUCCESS);
    SAME(count_of(&status, MPI_INT), bytes / 4);
    settle(fh);
    MPI_Offset end;
    MPI_File_get_size(fh, &end);
    SAME(end, 40 + rows * columns * 4);

    SAME(MPI_File_set_view(fh, 40, MPI_INT, theirs, "native", info), MPI_SUCCESS);
    position = 0;
    MPI_Pack(numbers, 1, theirs, expected, rows * columns * sizeof(int), &position, MPI_COMM_WORLD);
    memset(packed, 0, rows * columns * sizeof(int));
    if (together)
        SAME(MPI_File_read_all(fh, packed, other / 4, MPI_INT, &status), MPI_SUCCESS);
    else
        SAME(MPI_File_read(fh, packed, other / 4, MPI_INT, &status), MPI_SUCCESS);
    SAME(count_of(&status, MPI_INT), other / 4);
    CHECK(memcmp(packed, expected, other) == 0);

    /* Into memory that has gaps itself, as the whole matrix has: what belongs to others stays. */
    memset(packed, 7, rows * columns * sizeof(int));
    SAME(MPI_File_seek(fh, 0, MPI_SEEK_SET), MPI_SUCCESS);
    if (together)
        SAME(MPI_File_read_all(fh, packed, 1, theirs, &status), MPI_SUCCESS);
    else
        SAME(MPI_File_read(fh, packed, 1, theirs, &status), MPI_SUCCESS);
    SAME(count_of(&status, theirs), other > 0);
    int *again = malloc(rows * columns * sizeof(int)), wrong = 0;
    memset(again, 7, rows * columns * sizeof(int));
    position = 0;
    MPI_Unpack(expected, other, &position, again, 1, theirs, MPI_COMM_WORLD);
    wrong = memcmp(again, packed, rows * columns * sizeof(int)) != 0;
    CHECK(!wrong);
    free(again);
    SAME(MPI_File_close(&fh), MPI_SUCCESS);
    MPI_Type_free(&mine);
    MPI_Type_free(&theirs);
    MPI_Info_free(&info);
    free(numbers);
    free(packed);
    free(expected);
}

/* Ranks that write every second short run leave what lies between as it was; the end of the file is where the last has written, and a read beyond it tells how
 * much there was. */
static void gaps(int form)
{
    MPI_File fh = fresh(MPI_MODE_RDWR);
    MPI_Info info = hints_of(form);
    MPI_Datatype mine;
    enum { RUNS = 200, RUN = 3 };
    unsigned char part[RUNS * RUN], read[2 * RUNS * RUN];
    long bytes = 2L * size * RUNS * RUN;
    MPI_Status status;
    unsigned char *background = malloc(bytes), *all = malloc(bytes);
    memset(background, 0xee, bytes);
    if (rank == 0) MPI_File_write_at(fh, 0, background, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    settle(fh);
    MPI_Type_vector(1, RUN, RUN, MPI_BYTE, &mine);
    MPI_Datatype tile;
    MPI_Aint lengths = 2L * size * RUN;
    MPI_Type_create_resized(mine, 0, lengths, &tile);
    MPI_Type_commit(&tile);
    SAME(MPI_File_set_view(fh, 2L * rank * RUN, MPI_BYTE, tile, "native", info), MPI_SUCCESS);
    fill(part, sizeof part, rank, form);
    SAME(MPI_File_write_at_all(fh, 0, part, sizeof part, MPI_BYTE, &status), MPI_SUCCESS);
    SAME(count_of(&status, MPI_BYTE), sizeof part);
    settle(fh);
    SAME(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", info), MPI_SUCCESS);
    SAME(MPI_File_read_at_all(fh, 0, all, bytes, MPI_BYTE, &status), MPI_SUCCESS);
    SAME(count_of(&status, MPI_BYTE), bytes);
    int wrong = 0;
    for (long at = 0; at < bytes; at++) {
        long run = at / RUN;
        int member = run % 2 == 0 ? (int)(run / 2 % size) : -1;
        unsigned char expected =
            member < 0 ? 0xee : pattern(member, form, at / (2L * size * RUN) * RUN + at % RUN);
        wrong += all[at] != expected;
    }
    SAME(wrong, 0);
    SAME(MPI_File_set_view(fh, 2L * rank * RUN, MPI_BYTE, tile, "native", info), MPI_SUCCESS);
    SAME(MPI_File_read_all(fh, read, sizeof read, MPI_BYTE, &status), MPI_SUCCESS);
    SAME(count_of(&status, MPI_BYTE), sizeof part);
    CHECK(memcmp(read, part, sizeof part) == 0);
    SAME(MPI_File_close(&fh), MPI_SUCCESS);
    MPI_Type_free(&mine);
    MPI_Type_free(&tile);
    MPI_Info_free(&info);
    free(background);
    free(all);
}

/* Big-endian, and a long has four bytes there. */
static void external(void)
{
    MPI_File fh = fresh(MPI_MODE_RDWR);
    MPI_Aint extent;
    MPI_Status status;
    unsigned char bytes[16];
    int numbers[4] = {1, -2, 0x01020304, 7}, back[4];
    long longs[2] = {5, -6}, long_back[4] = {0, 0, 9, 9};
    int elements;
    SAME(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "external32", MPI_INFO_NULL), MPI_SUCCESS);
    SAME(MPI_File_write_at(fh, 4 * rank, numbers, 4, MPI_INT, &status), MPI_SUCCESS);
    SAME(count_of(&status, MPI_INT), 4);
    SAME(MPI_File_read_at(fh, 4 * rank, back, 4, MPI_INT, &status), MPI_SUCCESS);
    SAME(count_of(&status, MPI_INT), 4);
    CHECK(memcmp(numbers, back, sizeof back) == 0);
    settle(fh);
    SAME(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL), MPI_SUCCESS);
    SAME(MPI_File_read_at(fh, 16 * rank, bytes, 16, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
    CHECK(memcmp(bytes, "\0\0\0\1\377\377\377\376\1\2\3\4\0\0\0\7", 16) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    SAME(MPI_File_set_size(fh, 0), MPI_SUCCESS);

    SAME(MPI_File_set_view(fh, 0, MPI_LONG, MPI_LONG, "external32", MPI_INFO_NULL), MPI_SUCCESS);
    SAME(MPI_File_get_type_extent(fh, MPI_LONG, &extent), MPI_SUCCESS);
    SAME(extent, 4);
    SAME(MPI_File_write_at_all(fh, 2 * rank, longs, 2, MPI_LONG, &status), MPI_SUCCESS);
    SAME(count_of(&status, MPI_LONG), 2);
    settle(fh);
    MPI_Offset end;
    MPI_File_get_size(fh, &end);
    SAME(end, 8 * size);
    /* More than there is. */
    MPI_Datatype many;
    MPI_Type_contiguous(4, MPI_LONG, &many);
    MPI_Type_commit(&many);
    SAME(MPI_File_read_at(fh, 2 * size - 2, long_back, 1, many, &status), MPI_SUCCESS);
    MPI_Get_elements(&status, many, &elements);
    SAME(elements, 2);
    CHECK(long_back[0] == 5 && long_back[1] == -6 && long_back[2] == 9);
    MPI_Type_free(&many);
    SAME(MPI_File_close(&fh), MPI_SUCCESS);

    fh = fresh(MPI_MODE_RDWR);
    SAME(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "internal", MPI_INFO_NULL), MPI_SUCCESS);
    SAME(MPI_File_write_ordered(fh, numbers, 4, MPI_INT, &status), MPI_SUCCESS);
    SAME(MPI_File_read_at(fh, 4 * rank, back, 4, MPI_INT, &status), MPI_SUCCESS);
    CHECK(memcmp(numbers, back, sizeof back) == 0);
    SAME(class_of(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "roman", MPI_INFO_NULL)), MPI_ERR_UNSUPPORTED_DATAREP);
    SAME(MPI_File_close(&fh), MPI_SUCCESS);
}

static int shift = 3;

/* Each int is eight digits of text. */
static int to_text(void *user, MPI_Datatype datatype, int count, void *file, MPI_Offset position, void *extra)
{
    int bytes;
    (void)position;
    MPI_Type_size(datatype, &bytes);
    for (int i = 0; i < count * bytes / 4; i++) {
        char digits[9];
        snprintf(digits, sizeof digits, "%08d", ((int *)user)[i] + *(int *)extra);
        memcpy((char *)file + 8 * i, digits, 8);
    }
    return MPI_SUCCESS;
}

static int from_text(void *user, MPI_Datatype datatype, int count, void *file, MPI_Offset position, void *extra)
{
    int bytes;
    (void)position;
    MPI_Type_size(datatype, &bytes);
    for (int i = 0; i < count * bytes / 4; i++) {
        char digits[9] = "";
        memcpy(digits, (char *)file + 8 * i, 8);
        ((int *)user)[i] = atoi(digits) - *(int *)extra;
    }
    return MPI_SUCCESS;
}

static int to_text_c(void *user, MPI_Datatype datatype, MPI_Count count, void *file, MPI_Offset position, void *extra)
{
    return to_text(user, datatype, (int)count, file, position, extra);
}

static int from_text_c(void *user, MPI_Datatype datatype, MPI_Count count, void *file, MPI_Offset position, void *extra)
{
    return from_text(user, datatype, (int)count, file, position, extra);
}

static int eight(MPI_Datatype datatype, MPI_Aint *extent, void *extra)
{
    (void)extra;
    *extent = datatype == MPI_INT ? 8 : -1;
    return datatype == MPI_INT ? MPI_SUCCESS : MPI_ERR_TYPE;
}

static void registered(const char *name)
{
    MPI_File fh = fresh(MPI_MODE_RDWR);
    MPI_Datatype every_second;
    MPI_Aint extent;
    MPI_Status status;
    MPI_Request request;
    int numbers[3] = {10 * rank, 10 * rank + 1, 10 * rank + 2}, back[3];
    char text[24], expected[32], seen[MPI_MAX_DATAREP_STRING];
    MPI_Datatype etype, filetype;
    MPI_Offset disp;
    MPI_Type_create_resized(MPI_INT, 0, size * sizeof(int), &every_second);
    MPI_Type_commit(&every_second);
    SAME(MPI_File_set_view(fh, 8 * rank, MPI_INT, every_second, name, MPI_INFO_NULL), MPI_SUCCESS);
    SAME(MPI_File_get_view(fh, &disp, &etype, &filetype, seen), MPI_SUCCESS);
    CHECK(strcmp(seen, name) == 0);
    MPI_Type_free(&filetype);
    SAME(MPI_File_get_type_extent(fh, MPI_INT, &extent), MPI_SUCCESS);
    SAME(extent, 8);
    SAME(MPI_File_write_all(fh, numbers, 3, MPI_INT, &status), MPI_SUCCESS);
    SAME(count_of(&status, MPI_INT), 3);
    settle(fh);
    SAME(MPI_File_iread_at(fh, 0, back, 3, MPI_INT, &request), MPI_SUCCESS);
    SAME(MPI_Wait(&request, &status), MPI_SUCCESS);
    SAME(count_of(&status, MPI_INT), 3);
    CHECK(memcmp(numbers, back, sizeof back) == 0);
    SAME(MPI_File_set_view(fh, 0, MPI_CHAR, MPI_CHAR, "native", MPI_INFO_NULL), MPI_SUCCESS);
    SAME(MPI_File_read_at(fh, 8 * rank, text, 8, MPI_CHAR, MPI_STATUS_IGNORE), MPI_SUCCESS);
    snprintf(expected, sizeof expected, "%08d", 10 * rank + shift);
    CHECK(memcmp(text, expected, 8) == 0);
    SAME(MPI_File_close(&fh), MPI_SUCCESS);
    MPI_Type_free(&every_second);
}

/* In atomic mode what one rank writes with gaps is seen as a whole or not at all. */
static void atomic(void)
{
    MPI_File fh = fresh(MPI_MODE_RDWR);
    MPI_Datatype gapped;
    enum { PARTS = 64 };
    int numbers[PARTS];
    SAME(MPI_File_set_atomicity(fh, 1), MPI_SUCCESS);
    MPI_Type_create_resized(MPI_INT, 0, 256, &gapped);
    MPI_Type_commit(&gapped);
    SAME(MPI_File_set_view(fh, 0, MPI_INT, gapped, "native", MPI_INFO_NULL), MPI_SUCCESS);
    for (int i = 0; i < PARTS; i++) numbers[i] = 0;
    if (rank == 0) SAME(MPI_File_write_at(fh, 0, numbers, PARTS, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int round = 1; round <= 50; round++) {
        if (rank % 2 == 0) {
            for (int i = 0; i < PARTS; i++) numbers[i] = round * 100 + rank;
            SAME(MPI_File_write_at(fh, 0, numbers, PARTS, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
        } else {
            SAME(MPI_File_read_at(fh, 0, numbers, PARTS, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
            for (int i = 1; i < PARTS; i++) SAME(numbers[i], numbers[0]);
        }
    }
    SAME(MPI_File_close(&fh), MPI_SUCCESS);
    MPI_Type_free(&gapped);
}

/* A file type of pieces of which one has bounds of its own, which are then those of the whole (MPI section 5.1.6): its displacements ascend, but a second
 * copy of it would lie before the end of the first. Libraries for files make such types, and access one copy. */
static void bounds_inside(int together)
{
    MPI_File fh = fresh(MPI_MODE_RDWR);
    MPI_Datatype piece, type, types[3];
    MPI_Aint places[3] = {0, 40 * size, 80 * size}, low, extent;
    int ones[3] = {1, 1, 1}, out[3] = {rank, rank + 100, rank + 200}, in[3] = {0}, code;
    MPI_Offset end;
    MPI_Status status;
    MPI_Type_create_resized(MPI_INT, 0, 8, &piece);
    types[0] = types[2] = MPI_INT;
    types[1] = piece;
    MPI_Type_create_struct(3, ones, places, types, &type);
    MPI_Type_commit(&type);
    MPI_Type_get_extent(type, &low, &extent);
    SAME(low, 40 * size);
    SAME(extent, 8);
    SAME(MPI_File_set_view(fh, 4 * rank, MPI_INT, type, "native", MPI_INFO_NULL), MPI_SUCCESS);
    code = together ? MPI_File_write_at_all(fh, 0, out, 3, MPI_INT, &status) : MPI_File_write_at(fh, 0, out, 3, MPI_INT, &status);
    SAME(code, MPI_SUCCESS);
    settle(fh);
    code = together ? MPI_File_read_at_all(fh, 0, in, 3, MPI_INT, &status) : MPI_File_read_at(fh, 0, in, 3, MPI_INT, &status);
    SAME(code, MPI_SUCCESS);
    CHECK(memcmp(in, out, sizeof in) == 0);
    MPI_File_get_size(fh, &end);
    SAME(end, 84 * size);
    SAME(MPI_File_seek(fh, 0, MPI_SEEK_END), MPI_SUCCESS);
    MPI_File_get_position(fh, &end);
    SAME(end, 3);
    SAME(class_of(MPI_File_write_at(fh, 1, out, 3, MPI_INT, &status)), MPI_ERR_ARG);
    SAME(class_of(MPI_File_write_ordered(fh, out, 1, MPI_INT, &status)), MPI_ERR_UNSUPPORTED_OPERATION);
    MPI_Type_free(&piece);
    MPI_Type_free(&type);
    /* Here a second copy would lie on the first. */
    MPI_Type_create_resized(MPI_LONG_LONG, 0, 4, &type);
    MPI_Type_commit(&type);
    SAME(MPI_File_set_view(fh, 8 * rank, MPI_INT, type, "native", MPI_INFO_NULL), MPI_SUCCESS);
    SAME(MPI_File_write_at_all(fh, 0, out, 2, MPI_INT, &status), MPI_SUCCESS);
    SAME(class_of(MPI_File_write_at(fh, 0, out, 3, MPI_INT, &status)), MPI_ERR_ARG);
    MPI_Type_free(&type);
    SAME(MPI_File_close(&fh), MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    name_file("files_views");
    for (int form = 0; form < 5; form++) {
        for (int together = 0; together < 2; together++) {
            matrix(form, 30, 50, 4, together);
            matrix(form, 16, 16, 1, together);
        }
        gaps(form);
    }
    external();
    SAME(MPI_Register_datarep("text", from_text, to_text, eight, &shift), MPI_SUCCESS);
    SAME(MPI_Register_datarep_c("large text", from_text_c, to_text_c, eight, &shift), MPI_SUCCESS);
    SAME(class_of(MPI_Register_datarep("text", from_text, to_text, eight, &shift)), MPI_ERR_DUP_DATAREP);
    SAME(class_of(MPI_Register_datarep("native", from_text, to_text, eight, &shift)), MPI_ERR_DUP_DATAREP);
    registered("text");
    registered("large text");
    atomic();
    bounds_inside(0);
    bounds_inside(1);
    return conclude();
}
