/* Ranks that write beside each other at the same time, each its own bytes: what one writes with the gaps of its view is nothing that the others lose. */
#include "files.h"

enum { TIMES = 60, BLOCK = 1000, BLOCKS = 60 };

/* The gaps of a rank's view are the others' blocks. Some write many blocks at once, some one, through this view or one of all bytes. */
static void gaps(int second)
{
    MPI_File fh = fresh(MPI_MODE_RDWR), plain = MPI_FILE_NULL;
    MPI_Datatype block, own;
    static unsigned char out[BLOCK * BLOCKS], in[BLOCK];
    if (second) SAME(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, MPI_INFO_NULL, &plain), MPI_SUCCESS);
    MPI_Type_contiguous(BLOCK, MPI_BYTE, &block);
    MPI_Type_create_resized(block, 0, BLOCK * size, &own);
    MPI_Type_commit(&own);
    SAME(MPI_File_set_view(fh, rank * BLOCK, MPI_BYTE, own, "native", MPI_INFO_NULL), MPI_SUCCESS);
    fill(out, sizeof out, rank, 0);
    SAME(MPI_File_write_at(fh, 0, out, sizeof out, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
    for (int i = 1; i < TIMES; i++) {
        int one = i * 7 % BLOCKS * BLOCK;
        fill(out, sizeof out, rank, i);
        if (rank % 2 == 0) SAME(MPI_File_write_at(fh, 0, out, sizeof out, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
        else if (second)
            SAME(MPI_File_write_at(plain, one * size + rank * BLOCK, out + one, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
        else SAME(MPI_File_write_at(fh, one, out + one, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
        SAME(MPI_File_read_at(fh, one, in, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
        CHECK(memcmp(in, out + one, BLOCK) == 0);
    }
    MPI_Type_free(&block);
    MPI_Type_free(&own);
    if (second) SAME(MPI_File_close(&plain), MPI_SUCCESS);
    SAME(MPI_File_close(&fh), MPI_SUCCESS);
}

/* The last rank moves the shared pointer by itself when the first is already in a call of all. */
static void shared_pointer(void)
{
    MPI_File fh = fresh(MPI_MODE_RDWR);
    int ordered = 100 + rank, own = 200, found[2] = {0}, last = size - 1;
    MPI_Offset end;
    if (rank == 0) {
        SAME(MPI_File_write_ordered_begin(fh, &ordered, 1, MPI_INT), MPI_SUCCESS);
        if (last > 0) MPI_Send(NULL, 0, MPI_BYTE, last, 0, MPI_COMM_WORLD);
    } else {
        if (rank == last) {
            MPI_Recv(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            SAME(MPI_File_write_shared(fh, &own, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
        }
        SAME(MPI_File_write_ordered_begin(fh, &ordered, 1, MPI_INT), MPI_SUCCESS);
    }
    SAME(MPI_File_write_ordered_end(fh, &ordered, MPI_STATUS_IGNORE), MPI_SUCCESS);
    settle(fh);
    MPI_File_get_size(fh, &end);
    SAME(end, 4 * (size + (last > 0)));
    SAME(MPI_File_read_at(fh, 0, &found[0], 4, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
    SAME(found[0], last > 0 ? 200 : 100);
    SAME(MPI_File_read_at(fh, 4 * (rank + (last > 0)), &found[1], 4, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
    SAME(found[1], ordered);
    SAME(MPI_File_close(&fh), MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    name_file("files_beside");
    gaps(0);
    gaps(1);
    shared_pointer();
    return conclude();
}
