/* Files as objects: opening, sizes, pointers, views, hints, error handlers, and what the functions tell of them. */
#include "files.h"

static void facts(void)
{
    MPI_File fh = fresh(MPI_MODE_RDWR);
    MPI_Group group;
    MPI_Offset bytes = -1;
    int amode, members, flag;
    SAME(MPI_File_get_amode(fh, &amode), MPI_SUCCESS);
    SAME(amode, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE);
    SAME(MPI_File_get_group(fh, &group), MPI_SUCCESS);
    MPI_Group_size(group, &members);
    SAME(members, size);
    MPI_Group_free(&group);
    CHECK(MPI_File_fromint(MPI_File_toint(fh)) == fh);
    CHECK(MPI_File_fromint(MPI_File_toint(MPI_FILE_NULL)) == MPI_FILE_NULL);

    SAME(MPI_File_get_size(fh, &bytes), MPI_SUCCESS);
    SAME(bytes, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    SAME(MPI_File_preallocate(fh, 1000), MPI_SUCCESS);
    MPI_File_get_size(fh, &bytes);
    SAME(bytes, 1000);
    SAME(MPI_File_preallocate(fh, 10), MPI_SUCCESS);
    MPI_File_get_size(fh, &bytes);
    SAME(bytes, 1000);
    MPI_Barrier(MPI_COMM_WORLD);
    SAME(MPI_File_set_size(fh, 3LL << 30), MPI_SUCCESS);
    MPI_File_get_size(fh, &bytes);
    SAME(bytes, 3LL << 30);
    MPI_Barrier(MPI_COMM_WORLD);
    SAME(MPI_File_set_size(fh, 77), MPI_SUCCESS);
    MPI_File_get_size(fh, &bytes);
    SAME(bytes, 77);

    SAME(MPI_File_get_atomicity(fh, &flag), MPI_SUCCESS);
    SAME(flag, 0);
    SAME(MPI_File_set_atomicity(fh, 1), MPI_SUCCESS);
    MPI_File_get_atomicity(fh, &flag);
    SAME(flag, 1);
    SAME(MPI_File_sync(fh), MPI_SUCCESS);
    SAME(MPI_File_close(&fh), MPI_SUCCESS);
    CHECK(fh == MPI_FILE_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(access(path, F_OK) != 0);
}

/* The pointers count in units of the view, and the end of the file is the first unit behind it. */
static void pointers(void)
{
    MPI_File fh = fresh(MPI_MODE_RDWR);
    MPI_Datatype every_third, seen_etype, seen_filetype;
    MPI_Offset at;
    MPI_Aint extent;
    MPI_Count large;
    int numbers[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, read[10], combiner, unused[3];
    char representation[MPI_MAX_DATAREP_STRING];
    MPI_Status status;

    MPI_Type_create_resized(MPI_INT, 0, 3 * sizeof(int), &every_third);
    MPI_Type_commit(&every_third);
    SAME(MPI_File_set_view(fh, 8, MPI_INT, every_third, "native", MPI_INFO_NULL), MPI_SUCCESS);
    SAME(MPI_File_get_view(fh, &at, &seen_etype, &seen_filetype, representation), MPI_SUCCESS);
    SAME(at, 8);
    CHECK(seen_etype == MPI_INT && strcmp(representation, "native") == 0);
    MPI_Type_get_envelope(seen_filetype, &unused[0], &unused[1], &unused[2], &combiner);
    SAME(combiner, MPI_COMBINER_RESIZED);
    MPI_Type_free(&seen_filetype);
    MPI_Type_free(&every_third);
    SAME(MPI_File_get_byte_offset(fh, 0, &at), MPI_SUCCESS);
    SAME(at, 8);
    SAME(MPI_File_get_byte_offset(fh, 5, &at), MPI_SUCCESS);
    SAME(at, 8 + 60);
    SAME(MPI_File_get_type_extent(fh, MPI_DOUBLE, &extent), MPI_SUCCESS);
    SAME(extent, sizeof(double));
    SAME(MPI_File_get_type_extent_c(fh, MPI_DOUBLE, &large), MPI_SUCCESS);
    SAME(large, sizeof(double));

    if (rank == 0) {
        SAME(MPI_File_write(fh, numbers, 10, MPI_INT, &status), MPI_SUCCESS);
        SAME(count_of(&status, MPI_INT), 10);
        SAME(MPI_File_get_position(fh, &at), MPI_SUCCESS);
        SAME(at, 10);
    }
    settle(fh);
    MPI_File_get_size(fh, &at);
    SAME(at, 8 + 9 * 12 + 4);
    SAME(MPI_File_seek(fh, -4, MPI_SEEK_END), MPI_SUCCESS);
    MPI_File_get_position(fh, &at);
    SAME(at, 6);
    SAME(MPI_File_seek(fh, 1, MPI_SEEK_CUR), MPI_SUCCESS);
    memset(read, 0, sizeof read);
    SAME(MPI_File_read(fh, read, 10, MPI_INT, &status), MPI_SUCCESS);
    SAME(count_of(&status, MPI_INT), 3);
    CHECK(read[0] == 8 && read[1] == 9 && read[2] == 10 && read[3] == 0);
    MPI_File_get_position(fh, &at);
    SAME(at, 10);
    SAME(MPI_File_read(fh, read, 10, MPI_INT, &status), MPI_SUCCESS);
    SAME(count_of(&status, MPI_INT), 0);
    SAME(MPI_File_seek(fh, 2, MPI_SEEK_SET), MPI_SUCCESS);
    SAME(class_of(MPI_File_seek(fh, -3, MPI_SEEK_CUR)), MPI_ERR_ARG);
    SAME(class_of(MPI_File_seek(fh, 0, 12345)), MPI_ERR_ARG);
    MPI_File_get_position(fh, &at);
    SAME(at, 2);

    SAME(MPI_File_seek_shared(fh, 4, MPI_SEEK_SET), MPI_SUCCESS);
    SAME(MPI_File_get_position_shared(fh, &at), MPI_SUCCESS);
    SAME(at, 4);
    MPI_Barrier(MPI_COMM_WORLD);
    SAME(MPI_File_seek_shared(fh, -1, MPI_SEEK_END), MPI_SUCCESS);
    MPI_File_get_position_shared(fh, &at);
    SAME(at, 9);
    SAME(MPI_File_close(&fh), MPI_SUCCESS);

    /* All pointers of a file that is appended to begin at its end. */
    fh = fresh(MPI_MODE_WRONLY);
    MPI_File_write_at(fh, 3 * rank, "abc", 3, MPI_CHAR, MPI_STATUS_IGNORE);
    settle(fh);
    MPI_File more;
    SAME(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_WRONLY | MPI_MODE_APPEND, MPI_INFO_NULL, &more), MPI_SUCCESS);
    MPI_File_get_position(more, &at);
    SAME(at, 3 * size);
    MPI_File_get_position_shared(more, &at);
    SAME(at, 3 * size);
    SAME(MPI_File_close(&more), MPI_SUCCESS);
    SAME(MPI_File_close(&fh), MPI_SUCCESS);
}

/* Hints that are known are told again; others are ignored. */
static void hints(void)
{
    MPI_Info info, used;
    MPI_File fh;
    char value[64];
    int flag, length = sizeof value;
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_buffer_size", "65536");
    MPI_Info_set(info, "cb_nodes", "1");
    MPI_Info_set(info, "no_such_hint", "1");
    SAME(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, info, &fh),
         MPI_SUCCESS);
    SAME(MPI_File_get_info(fh, &used), MPI_SUCCESS);
    MPI_Info_get_string(used, "cb_buffer_size", &length, value, &flag);
    CHECK(flag && strcmp(value, "65536") == 0);
    length = sizeof value;
    MPI_Info_get_string(used, "cb_nodes", &length, value, &flag);
    CHECK(flag && strcmp(value, "1") == 0);
    length = sizeof value;
    MPI_Info_get_string(used, "no_such_hint", &length, value, &flag);
    CHECK(!flag);
    MPI_Info_free(&used);
    MPI_Info_set(info, "cb_buffer_size", "131072");
    SAME(MPI_File_set_info(fh, info), MPI_SUCCESS);
    MPI_File_get_info(fh, &used);
    length = sizeof value;
    MPI_Info_get_string(used, "cb_buffer_size", &length, value, &flag);
    CHECK(flag && strcmp(value, "131072") == 0);
    MPI_Info_free(&used);
    MPI_Info_free(&info);
    SAME(MPI_File_close(&fh), MPI_SUCCESS);
}

static int handled, handled_code;
static MPI_File handled_file;

static void handle(MPI_File *fh, int *code, ...)
{
    handled++;
    handled_code = *code;
    handled_file = *fh;
}

/* A file has a handler of its own, which at first is that of MPI_FILE_NULL. */
static void handlers(void)
{
    MPI_Errhandler mine, found;
    MPI_File fh;
    int number = 1;
    SAME(MPI_File_get_errhandler(MPI_FILE_NULL, &found), MPI_SUCCESS);
    CHECK(found == MPI_ERRORS_RETURN);
    SAME(MPI_File_create_errhandler(handle, &mine), MPI_SUCCESS);
    SAME(MPI_File_set_errhandler(MPI_FILE_NULL, mine), MPI_SUCCESS);
    fh = fresh(MPI_MODE_WRONLY);
    SAME(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN), MPI_SUCCESS);
    SAME(MPI_File_get_errhandler(fh, &found), MPI_SUCCESS);
    CHECK(found == mine);
    MPI_Errhandler_free(&found);
    MPI_Errhandler_free(&mine);
    handled = 0;
    SAME(class_of(MPI_File_read(fh, &number, 1, MPI_INT, MPI_STATUS_IGNORE)), MPI_ERR_ACCESS);
    CHECK(handled == 1 && class_of(handled_code) == MPI_ERR_ACCESS && handled_file == fh);
    SAME(MPI_File_call_errhandler(fh, MPI_ERR_QUOTA), MPI_SUCCESS);
    CHECK(handled == 2 && handled_code == MPI_ERR_QUOTA);
    SAME(MPI_File_set_errhandler(fh, MPI_ERRORS_RETURN), MPI_SUCCESS);
    SAME(class_of(MPI_File_read(fh, &number, 1, MPI_INT, MPI_STATUS_IGNORE)), MPI_ERR_ACCESS);
    SAME(handled, 2);
    SAME(MPI_File_close(&fh), MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    name_file("files");
    facts();
    pointers();
    hints();
    handlers();
    return conclude();
}
