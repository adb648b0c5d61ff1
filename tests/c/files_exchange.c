/* Writes a file that another MPI reads, or reads one that another has written: a matrix in the cyclic distribution, as it lies in memory and big-endian.
 *
 *     files_exchange write|read FILE
 */
#include "files.h"

enum { ROWS = 24, COLUMNS = 40 };

static void matrix(int writes, const char *representation, const char *file)
{
    int sizes[2] = {ROWS, COLUMNS}, ways[2] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_CYCLIC}, blocks[2] = {3, 5};
    int grid[2] = {0, 0}, bytes, place = 0;
    double all[ROWS * COLUMNS], mine[ROWS * COLUMNS], found[ROWS * COLUMNS];
    MPI_Datatype filetype;
    MPI_File fh;
    MPI_Status status;
    for (int i = 0; i < ROWS * COLUMNS; i++) all[i] = 1.5 * i - 7;
    MPI_Dims_create(size, 2, grid);
    MPI_Type_create_darray(size, rank, 2, sizes, ways, blocks, grid, MPI_ORDER_C, MPI_DOUBLE, &filetype);
    MPI_Type_commit(&filetype);
    MPI_Type_size(filetype, &bytes);
    MPI_Pack(all, 1, filetype, mine, sizeof mine, &place, MPI_COMM_WORLD);
    int mode = writes ? MPI_MODE_WRONLY | MPI_MODE_CREATE : MPI_MODE_RDONLY;
    SAME(MPI_File_open(MPI_COMM_WORLD, file, mode, MPI_INFO_NULL, &fh), MPI_SUCCESS);
    SAME(MPI_File_set_view(fh, 16, MPI_DOUBLE, filetype, (char *)representation, MPI_INFO_NULL), MPI_SUCCESS);
    if (writes) {
        SAME(MPI_File_write_all(fh, mine, bytes / 8, MPI_DOUBLE, &status), MPI_SUCCESS);
    } else {
        SAME(MPI_File_read_all(fh, found, bytes / 8, MPI_DOUBLE, &status), MPI_SUCCESS);
        CHECK(memcmp(found, mine, bytes) == 0);
        MPI_Offset end;
        MPI_File_get_size(fh, &end);
        SAME(end, 16 + 8 * ROWS * COLUMNS);
    }
    SAME(count_of(&status, MPI_DOUBLE), bytes / 8);
    SAME(MPI_File_close(&fh), MPI_SUCCESS);
    MPI_Type_free(&filetype);
}

int main(int argc, char **argv)
{
    char name[512];
    begin(&argc, &argv);
    if (argc != 3) {
        fprintf(stderr, "usage: files_exchange write|read FILE\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    const char *representations[] = {"native", "external32"};
    for (int i = 0; i < 2; i++) {
        snprintf(name, sizeof name, "%s.%s", argv[2], representations[i]);
        matrix(strcmp(argv[1], "write") == 0, representations[i], name);
    }
    return conclude();
}
