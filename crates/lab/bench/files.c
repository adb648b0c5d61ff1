/* Files of four ranks: a matrix in blocks of 8 KiB that are dealt out cyclically over a grid, and segments of 64 KiB dealt out in turn, each written and read
 * by all ranks together; and, for comparison, the same bytes written and read by one process in one piece after the other, as dd does. The file lies in
 * the temporary directory, in the system's cache. What all do together takes from the first rank's begin to the last one's end. */
#include "measure.h"
#include <fcntl.h>
#include <unistd.h>

enum { BLOCK = 32, SEGMENT = 64 << 10, PIECE = 1 << 20 };

static long bytes;
static char path[256];
static char *memory;

static void plain(void)
{
    if (me > 0) return;
    char *piece = malloc(PIECE);
    memset(piece, 1, PIECE);
    for (int reads = 0; reads < 2; reads++) {
        int file = open(path, reads ? O_RDONLY : O_CREAT | O_TRUNC | O_WRONLY, 0600);
        double began = MPI_Wtime();
        for (long at = 0; at < bytes; at += PIECE)
            if ((reads ? read(file, piece, PIECE) : write(file, piece, PIECE)) != PIECE) exit(1);
        figure(reads ? "files-dd-read" : "files-dd-write", bytes, bytes / (MPI_Wtime() - began) / 1e6, "MB/s");
        close(file);
    }
    unlink(path);
    free(piece);
}

static void together(const char *what, MPI_Datatype etype, MPI_Datatype filetype)
{
    char name[64];
    MPI_File file;
    int mine, unit;
    MPI_Type_size(filetype, &mine);
    MPI_Type_size(etype, &unit);
    long tiles = bytes / everybody / mine;
    MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
    MPI_File_set_view(file, 0, etype, filetype, "native", MPI_INFO_NULL);
    for (int reads = 0; reads < 2; reads++) {
        double begin = begin_together();
        if (reads)
            MPI_File_read_at_all(file, 0, memory, tiles * mine / unit, etype, MPI_STATUS_IGNORE);
        else
            MPI_File_write_at_all(file, 0, memory, tiles * mine / unit, etype, MPI_STATUS_IGNORE);
        double seconds = end_together(begin);
        snprintf(name, sizeof name, "files-%s-%s", what, reads ? "read" : "write");
        figure(name, bytes, bytes / seconds / 1e6, "MB/s");
    }
    MPI_File_close(&file);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    get_ready(argc, argv);
    const char *folder = getenv("TMPDIR");
    if (me == 0) {
        snprintf(path, sizeof path, "%s/corelace-bench-files-XXXXXX", folder ? folder : "/tmp");
        close(mkstemp(path));
    }
    MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
    int rows = quick ? 1024 : 8192, columns = quick ? 8192 : 16384;
    bytes = (long)rows * columns * sizeof(double);
    memory = malloc(bytes / everybody);
    memset(memory, me + 1, bytes / everybody);

    plain();
    int sizes[2] = {rows, columns}, grid[2] = {0, 0}, blocks[2] = {BLOCK, BLOCK};
    int ways[2] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_CYCLIC};
    MPI_Datatype matrix, turns, segment, whole;
    MPI_Dims_create(everybody, 2, grid);
    MPI_Type_create_darray(everybody, me, 2, sizes, ways, blocks, grid, MPI_ORDER_C, MPI_DOUBLE, &matrix);
    MPI_Type_commit(&matrix);
    together("matrix", MPI_DOUBLE, matrix);

    MPI_Type_contiguous(SEGMENT, MPI_BYTE, &segment);
    int at = me, one = 1;
    MPI_Type_indexed(1, &one, &at, segment, &whole);
    MPI_Type_create_resized(whole, 0, (MPI_Aint)everybody * SEGMENT, &turns);
    MPI_Type_commit(&turns);
    together("segments", MPI_BYTE, turns);

    MPI_Type_free(&matrix);
    MPI_Type_free(&segment);
    MPI_Type_free(&whole);
    MPI_Type_free(&turns);
    free(memory);
    MPI_Finalize();
    return 0;
}
