/* What goes wrong with files: the right class, and a sentence that names the file or the argument. */
#include "files.h"
#include <fcntl.h>
#include <sys/stat.h>

static void fails(int code, int class, const char *word, int line)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    if (class_of(code) != class) {
        fprintf(stderr, "line %d: ", line);
        SAME(class_of(code), class);
    }
    MPI_Error_string(code, text, &length);
    if (strstr(text, word) == NULL) {
        fprintf(stderr, "line %d: \"%s\" does not say \"%s\"\n", line, text, word);
        failures++;
    }
}
#define FAILS(call, class, word) fails(call, class, word, __LINE__)

static void opening(void)
{
    MPI_File fh = MPI_FILE_NULL;
    char other[300];
    MPI_Comm world = MPI_COMM_WORLD;
    snprintf(other, sizeof other, "%s-missing/file", path);
    FAILS(MPI_File_open(world, other, MPI_MODE_RDONLY, MPI_INFO_NULL, &fh), MPI_ERR_NO_SUCH_FILE, "-missing");
    FAILS(MPI_File_open(world, other, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &fh), MPI_ERR_NO_SUCH_FILE, "-missing");
    CHECK(fh == MPI_FILE_NULL);
    FAILS(MPI_File_open(world, path, MPI_MODE_RDONLY | MPI_MODE_RDWR, MPI_INFO_NULL, &fh), MPI_ERR_AMODE, "amode is");
    FAILS(MPI_File_open(world, path, MPI_MODE_RDONLY | MPI_MODE_CREATE, MPI_INFO_NULL, &fh), MPI_ERR_AMODE, "MPI_MODE_CREATE");
    FAILS(MPI_File_open(world, path, MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL, &fh), MPI_ERR_AMODE, "SEQUENTIAL");
    if (size > 1)
        FAILS(MPI_File_open(world, path, rank == 1 ? MPI_MODE_WRONLY | MPI_MODE_CREATE : MPI_MODE_RDWR | MPI_MODE_CREATE,
                            MPI_INFO_NULL, &fh),
              MPI_ERR_NOT_SAME, "amode");
    FAILS(MPI_File_open(world, "/tmp", MPI_MODE_RDWR, MPI_INFO_NULL, &fh), MPI_ERR_BAD_FILE, "/tmp");
    FAILS(MPI_File_delete(other, MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE, "-missing");

    SAME(MPI_File_open(world, path, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_UNIQUE_OPEN,
                       MPI_INFO_NULL, &fh),
         MPI_SUCCESS);
    SAME(MPI_File_close(&fh), MPI_SUCCESS);
    FAILS(MPI_File_open(world, path, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL, MPI_INFO_NULL, &fh),
          MPI_ERR_FILE_EXISTS, path);
    FAILS(MPI_File_close(&fh), MPI_ERR_FILE, "MPI_FILE_NULL");
    MPI_Barrier(world);
    if (rank == 0) {
        SAME(MPI_File_delete(path, MPI_INFO_NULL), MPI_SUCCESS);
        CHECK(access(path, F_OK) != 0);
    }
    MPI_Barrier(world);
}

static void using(void)
{
    MPI_File fh = fresh(MPI_MODE_WRONLY), reading;
    MPI_Datatype wrong, uncommitted;
    MPI_Offset at;
    int number = 5;
    char bytes[3] = "ab";
    SAME(MPI_File_write_at(fh, 0, &number, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
    settle(fh);
    FAILS(MPI_File_read(fh, &number, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_ACCESS, path);
    SAME(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &reading), MPI_SUCCESS);
    FAILS(MPI_File_write(reading, &number, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_READ_ONLY, path);
    FAILS(MPI_File_set_size(reading, 3), MPI_ERR_READ_ONLY, path);
    FAILS(MPI_File_preallocate(reading, 3), MPI_ERR_READ_ONLY, path);
    FAILS(MPI_File_read_at(reading, -1, &number, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_ARG, "offset is -1");
    FAILS(MPI_File_read_at(reading, 0, &number, -1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_COUNT, "count is -1");
    FAILS(MPI_File_read_at(reading, 0, NULL, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_BUFFER, "buf");
    FAILS(MPI_File_read_at(reading, 0, &number, 1, MPI_DATATYPE_NULL, MPI_STATUS_IGNORE), MPI_ERR_TYPE, "datatype");
    FAILS(MPI_File_set_size(fh, -3), MPI_ERR_ARG, "size is -3");
    FAILS(MPI_File_get_byte_offset(fh, -3, &at), MPI_ERR_ARG, "offset is -3");
    FAILS(MPI_File_get_size(MPI_FILE_NULL, &at), MPI_ERR_FILE, "MPI_FILE_NULL");

    MPI_Type_contiguous(3, MPI_BYTE, &wrong);
    MPI_Type_commit(&wrong);
    MPI_Type_contiguous(3, MPI_BYTE, &uncommitted);
    FAILS(MPI_File_set_view(fh, 0, MPI_INT, wrong, "native", MPI_INFO_NULL), MPI_ERR_ARG, "multiple");
    FAILS(MPI_File_set_view(fh, -8, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), MPI_ERR_ARG, "disp is -8");
    FAILS(MPI_File_set_view(fh, 0, uncommitted, uncommitted, "native", MPI_INFO_NULL), MPI_ERR_TYPE, "commit");
    FAILS(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "cuneiform", MPI_INFO_NULL), MPI_ERR_UNSUPPORTED_DATAREP, "cuneiform");
    SAME(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), MPI_SUCCESS);
    FAILS(MPI_File_write_at(fh, 0, bytes, 3, MPI_BYTE, MPI_STATUS_IGNORE), MPI_ERR_IO, "multiple");
    MPI_Type_free(&wrong);
    MPI_Type_free(&uncommitted);

    SAME(MPI_File_write_all_begin(fh, &number, 1, MPI_INT), MPI_SUCCESS);
    FAILS(MPI_File_write_all_begin(fh, &number, 1, MPI_INT), MPI_ERR_UNSUPPORTED_OPERATION, "MPI_File_write_all_begin");
    FAILS(MPI_File_write_at_all_end(fh, &number, MPI_STATUS_IGNORE), MPI_ERR_UNSUPPORTED_OPERATION, "MPI_File_write_at_all_begin");
    FAILS(MPI_File_close(&fh), MPI_ERR_UNSUPPORTED_OPERATION, "MPI_File_write_all_begin");
    SAME(MPI_File_write_all_end(fh, &number, MPI_STATUS_IGNORE), MPI_SUCCESS);
    SAME(MPI_File_close(&reading), MPI_SUCCESS);
    SAME(MPI_File_close(&fh), MPI_SUCCESS);
}

/* A disk that is full, and what comes of it in each form. */
static void full(void)
{
    MPI_File fh;
    MPI_Request request;
    MPI_Status status;
    static char bytes[100000];
    SAME(MPI_File_open(MPI_COMM_WORLD, "/dev/full", MPI_MODE_WRONLY, MPI_INFO_NULL, &fh), MPI_SUCCESS);
    FAILS(MPI_File_write_at(fh, 0, bytes, sizeof bytes, MPI_BYTE, MPI_STATUS_IGNORE), MPI_ERR_NO_SPACE, "/dev/full");
    SAME(MPI_File_iwrite_at(fh, 0, bytes, sizeof bytes, MPI_BYTE, &request), MPI_SUCCESS);
    FAILS(MPI_Wait(&request, &status), MPI_ERR_NO_SPACE, "/dev/full");
    CHECK(request == MPI_REQUEST_NULL);
    SAME(MPI_File_iwrite_at(fh, 0, bytes, sizeof bytes, MPI_BYTE, &request), MPI_SUCCESS);
    FAILS(MPI_Waitall(1, &request, &status), MPI_ERR_IN_STATUS, "/dev/full");
    SAME(class_of(status.MPI_ERROR), MPI_ERR_NO_SPACE);
    FAILS(MPI_File_write_at_all(fh, 0, bytes, sizeof bytes, MPI_BYTE, MPI_STATUS_IGNORE), MPI_ERR_NO_SPACE, "/dev/full");
    SAME(MPI_File_close(&fh), MPI_SUCCESS);
}

/* A file without rights, and one in which one may go forward only. */
static void rights(void)
{
    MPI_File fh;
    int number = rank, found = -1;
    MPI_Offset at;
    if (rank == 0) {
        int made = open(path, O_CREAT | O_WRONLY, 0);
        close(made);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (geteuid() != 0)
        FAILS(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &fh), MPI_ERR_ACCESS, path);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) unlink(path);
    MPI_Barrier(MPI_COMM_WORLD);
    SAME(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_WRONLY | MPI_MODE_CREATE | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL, &fh),
         MPI_SUCCESS);
    FAILS(MPI_File_write_at(fh, 0, &number, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_UNSUPPORTED_OPERATION, path);
    FAILS(MPI_File_write(fh, &number, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_UNSUPPORTED_OPERATION, path);
    FAILS(MPI_File_seek(fh, 0, MPI_SEEK_SET), MPI_ERR_UNSUPPORTED_OPERATION, path);
    FAILS(MPI_File_get_position(fh, &at), MPI_ERR_UNSUPPORTED_OPERATION, path);
    SAME(MPI_File_write_ordered(fh, &number, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
    SAME(MPI_File_set_view(fh, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), MPI_SUCCESS);
    SAME(MPI_File_write_ordered(fh, &number, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
    SAME(MPI_File_close(&fh), MPI_SUCCESS);
    SAME(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY | MPI_MODE_SEQUENTIAL | MPI_MODE_DELETE_ON_CLOSE,
                       MPI_INFO_NULL, &fh),
         MPI_SUCCESS);
    SAME(MPI_File_get_size(fh, &at), MPI_SUCCESS);
    SAME(at, 8 * size);
    for (int round = 0; round < 2; round++) {
        SAME(MPI_File_read_ordered(fh, &found, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
        SAME(found, rank);
    }
    SAME(MPI_File_close(&fh), MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    name_file("files_errors");
    opening();
    using();
    full();
    rights();
    return conclude();
}
