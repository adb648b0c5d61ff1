/* Every form of reading and writing: with explicit offsets, by the own and by the shared pointer, alone and together, waited for, with a request and split
 * in two, with small and with large counts. Each form writes what another has to find, and the other way round. */
#include "files.h"

enum { EACH = 300 };

static int written[EACH], found[EACH];
static MPI_Status status;
static MPI_Request request;

static void fresh_numbers(int round)
{
    for (int i = 0; i < EACH; i++) written[i] = rank * 100000 + round * 1000 + i;
    memset(found, -1, sizeof found);
}

/* The part of some rank in what the ranks have written one after the other. */
static void is_part_of(int member, int round)
{
    for (int i = 0; i < EACH; i++) {
        if (found[i] != member * 100000 + round * 1000 + i) {
            SAME(found[i], member * 100000 + round * 1000 + i);
            return;
        }
    }
}

static void moved(void)
{
    SAME(count_of(&status, MPI_INT), EACH);
    memset(&status, 0, sizeof status);
}

static void wait_for_it(void)
{
    CHECK(request != MPI_REQUEST_NULL);
    SAME(MPI_Wait(&request, &status), MPI_SUCCESS);
    moved();
}

enum { WRITES = 24 };

/* One of the forms; each rank has its part behind that of the rank before it. */
static void write_by(int form, MPI_File fh)
{
    MPI_Offset mine = (MPI_Offset)rank * EACH;
    switch (form) {
    case 0:
        SAME(MPI_File_write_at(fh, mine, written, EACH, MPI_INT, &status), MPI_SUCCESS);
        moved();
        break;
    case 1:
        SAME(MPI_File_iwrite_at(fh, mine, written, EACH, MPI_INT, &request), MPI_SUCCESS);
        wait_for_it();
        break;
    case 2:
        SAME(MPI_File_write_at_all(fh, mine, written, EACH, MPI_INT, &status), MPI_SUCCESS);
        moved();
        break;
    case 3:
        SAME(MPI_File_iwrite_at_all(fh, mine, written, EACH, MPI_INT, &request), MPI_SUCCESS);
        wait_for_it();
        break;
    case 4:
        SAME(MPI_File_write_at_all_begin(fh, mine, written, EACH, MPI_INT), MPI_SUCCESS);
        SAME(MPI_File_write_at_all_end(fh, written, &status), MPI_SUCCESS);
        moved();
        break;
    case 5:
        MPI_File_seek(fh, mine, MPI_SEEK_SET);
        SAME(MPI_File_write(fh, written, EACH, MPI_INT, &status), MPI_SUCCESS);
        moved();
        break;
    case 6:
        MPI_File_seek(fh, mine, MPI_SEEK_SET);
        SAME(MPI_File_iwrite(fh, written, EACH, MPI_INT, &request), MPI_SUCCESS);
        wait_for_it();
        break;
    case 7:
        MPI_File_seek(fh, mine, MPI_SEEK_SET);
        SAME(MPI_File_write_all(fh, written, EACH, MPI_INT, &status), MPI_SUCCESS);
        moved();
        break;
    case 8:
        MPI_File_seek(fh, mine, MPI_SEEK_SET);
        SAME(MPI_File_iwrite_all(fh, written, EACH, MPI_INT, &request), MPI_SUCCESS);
        wait_for_it();
        break;
    case 9:
        MPI_File_seek(fh, mine, MPI_SEEK_SET);
        SAME(MPI_File_write_all_begin(fh, written, EACH, MPI_INT), MPI_SUCCESS);
        SAME(MPI_File_write_all_end(fh, written, &status), MPI_SUCCESS);
        moved();
        break;
    case 10:
        SAME(MPI_File_write_ordered(fh, written, EACH, MPI_INT, &status), MPI_SUCCESS);
        moved();
        break;
    case 11:
        SAME(MPI_File_write_ordered_begin(fh, written, EACH, MPI_INT), MPI_SUCCESS);
        SAME(MPI_File_write_ordered_end(fh, written, &status), MPI_SUCCESS);
        moved();
        break;
    case 12:
        SAME(MPI_File_write_at_c(fh, mine, written, EACH, MPI_INT, &status), MPI_SUCCESS);
        moved();
        break;
    case 13:
        SAME(MPI_File_iwrite_at_c(fh, mine, written, EACH, MPI_INT, &request), MPI_SUCCESS);
        wait_for_it();
        break;
    case 14:
        SAME(MPI_File_write_at_all_c(fh, mine, written, EACH, MPI_INT, &status), MPI_SUCCESS);
        moved();
        break;
    case 15:
        SAME(MPI_File_iwrite_at_all_c(fh, mine, written, EACH, MPI_INT, &request), MPI_SUCCESS);
        wait_for_it();
        break;
    case 16:
        SAME(MPI_File_write_at_all_begin_c(fh, mine, written, EACH, MPI_INT), MPI_SUCCESS);
        SAME(MPI_File_write_at_all_end(fh, written, &status), MPI_SUCCESS);
        moved();
        break;
    case 17:
        MPI_File_seek(fh, mine, MPI_SEEK_SET);
        SAME(MPI_File_write_c(fh, written, EACH, MPI_INT, &status), MPI_SUCCESS);
        moved();
        break;
    case 18:
        MPI_File_seek(fh, mine, MPI_SEEK_SET);
        SAME(MPI_File_iwrite_c(fh, written, EACH, MPI_INT, &request), MPI_SUCCESS);
        wait_for_it();
        break;
    case 19:
        MPI_File_seek(fh, mine, MPI_SEEK_SET);
        SAME(MPI_File_write_all_c(fh, written, EACH, MPI_INT, &status), MPI_SUCCESS);
        moved();
        break;
    case 20:
        MPI_File_seek(fh, mine, MPI_SEEK_SET);
        SAME(MPI_File_iwrite_all_c(fh, written, EACH, MPI_INT, &request), MPI_SUCCESS);
        wait_for_it();
        break;
    case 21:
        MPI_File_seek(fh, mine, MPI_SEEK_SET);
        SAME(MPI_File_write_all_begin_c(fh, written, EACH, MPI_INT), MPI_SUCCESS);
        SAME(MPI_File_write_all_end(fh, written, &status), MPI_SUCCESS);
        moved();
        break;
    case 22:
        SAME(MPI_File_write_ordered_c(fh, written, EACH, MPI_INT, &status), MPI_SUCCESS);
        moved();
        break;
    case 23:
        SAME(MPI_File_write_ordered_begin_c(fh, written, EACH, MPI_INT), MPI_SUCCESS);
        SAME(MPI_File_write_ordered_end(fh, written, &status), MPI_SUCCESS);
        moved();
        break;
    }
}

enum { READS = 24 };

/* One of the forms; each rank has its part behind that of the rank before it. */
static void read_by(int form, MPI_File fh)
{
    MPI_Offset mine = (MPI_Offset)rank * EACH;
    switch (form) {
    case 0:
        SAME(MPI_File_read_at(fh, mine, found, EACH, MPI_INT, &status), MPI_SUCCESS);
        moved();
        break;
    case 1:
        SAME(MPI_File_iread_at(fh, mine, found, EACH, MPI_INT, &request), MPI_SUCCESS);
        wait_for_it();
        break;
    case 2:
        SAME(MPI_File_read_at_all(fh, mine, found, EACH, MPI_INT, &status), MPI_SUCCESS);
        moved();
        break;
    case 3:
        SAME(MPI_File_iread_at_all(fh, mine, found, EACH, MPI_INT, &request), MPI_SUCCESS);
        wait_for_it();
        break;
    case 4:
        SAME(MPI_File_read_at_all_begin(fh, mine, found, EACH, MPI_INT), MPI_SUCCESS);
        SAME(MPI_File_read_at_all_end(fh, found, &status), MPI_SUCCESS);
        moved();
        break;
    case 5:
        MPI_File_seek(fh, mine, MPI_SEEK_SET);
        SAME(MPI_File_read(fh, found, EACH, MPI_INT, &status), MPI_SUCCESS);
        moved();
        break;
    case 6:
        MPI_File_seek(fh, mine, MPI_SEEK_SET);
        SAME(MPI_File_iread(fh, found, EACH, MPI_INT, &request), MPI_SUCCESS);
        wait_for_it();
        break;
    case 7:
        MPI_File_seek(fh, mine, MPI_SEEK_SET);
        SAME(MPI_File_read_all(fh, found, EACH, MPI_INT, &status), MPI_SUCCESS);
        moved();
        break;
    case 8:
        MPI_File_seek(fh, mine, MPI_SEEK_SET);
        SAME(MPI_File_iread_all(fh, found, EACH, MPI_INT, &request), MPI_SUCCESS);
        wait_for_it();
        break;
    case 9:
        MPI_File_seek(fh, mine, MPI_SEEK_SET);
        SAME(MPI_File_read_all_begin(fh, found, EACH, MPI_INT), MPI_SUCCESS);
        SAME(MPI_File_read_all_end(fh, found, &status), MPI_SUCCESS);
        moved();
        break;
    case 10:
        SAME(MPI_File_read_ordered(fh, found, EACH, MPI_INT, &status), MPI_SUCCESS);
        moved();
        break;
    case 11:
        SAME(MPI_File_read_ordered_begin(fh, found, EACH, MPI_INT), MPI_SUCCESS);
        SAME(MPI_File_read_ordered_end(fh, found, &status), MPI_SUCCESS);
        moved();
        break;
    case 12:
        SAME(MPI_File_read_at_c(fh, mine, found, EACH, MPI_INT, &status), MPI_SUCCESS);
        moved();
        break;
    case 13:
        SAME(MPI_File_iread_at_c(fh, mine, found, EACH, MPI_INT, &request), MPI_SUCCESS);
        wait_for_it();
        break;
    case 14:
        SAME(MPI_File_read_at_all_c(fh, mine, found, EACH, MPI_INT, &status), MPI_SUCCESS);
        moved();
        break;
    case 15:
        SAME(MPI_File_iread_at_all_c(fh, mine, found, EACH, MPI_INT, &request), MPI_SUCCESS);
        wait_for_it();
        break;
    case 16:
        SAME(MPI_File_read_at_all_begin_c(fh, mine, found, EACH, MPI_INT), MPI_SUCCESS);
        SAME(MPI_File_read_at_all_end(fh, found, &status), MPI_SUCCESS);
        moved();
        break;
    case 17:
        MPI_File_seek(fh, mine, MPI_SEEK_SET);
        SAME(MPI_File_read_c(fh, found, EACH, MPI_INT, &status), MPI_SUCCESS);
        moved();
        break;
    case 18:
        MPI_File_seek(fh, mine, MPI_SEEK_SET);
        SAME(MPI_File_iread_c(fh, found, EACH, MPI_INT, &request), MPI_SUCCESS);
        wait_for_it();
        break;
    case 19:
        MPI_File_seek(fh, mine, MPI_SEEK_SET);
        SAME(MPI_File_read_all_c(fh, found, EACH, MPI_INT, &status), MPI_SUCCESS);
        moved();
        break;
    case 20:
        MPI_File_seek(fh, mine, MPI_SEEK_SET);
        SAME(MPI_File_iread_all_c(fh, found, EACH, MPI_INT, &request), MPI_SUCCESS);
        wait_for_it();
        break;
    case 21:
        MPI_File_seek(fh, mine, MPI_SEEK_SET);
        SAME(MPI_File_read_all_begin_c(fh, found, EACH, MPI_INT), MPI_SUCCESS);
        SAME(MPI_File_read_all_end(fh, found, &status), MPI_SUCCESS);
        moved();
        break;
    case 22:
        SAME(MPI_File_read_ordered_c(fh, found, EACH, MPI_INT, &status), MPI_SUCCESS);
        moved();
        break;
    case 23:
        SAME(MPI_File_read_ordered_begin_c(fh, found, EACH, MPI_INT), MPI_SUCCESS);
        SAME(MPI_File_read_ordered_end(fh, found, &status), MPI_SUCCESS);
        moved();
        break;
    }
}

/* By the shared pointer alone: whoever comes first has the first part, and no two have the same. */
static void shared(MPI_File fh, int form)
{
    MPI_Offset at;
    fresh_numbers(form);
    SAME(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET), MPI_SUCCESS);
    switch (form) {
    case 0: SAME(MPI_File_write_shared(fh, written, EACH, MPI_INT, &status), MPI_SUCCESS); break;
    case 1: SAME(MPI_File_write_shared_c(fh, written, EACH, MPI_INT, &status), MPI_SUCCESS); break;
    case 2: SAME(MPI_File_iwrite_shared(fh, written, EACH, MPI_INT, &request), MPI_SUCCESS); break;
    default: SAME(MPI_File_iwrite_shared_c(fh, written, EACH, MPI_INT, &request), MPI_SUCCESS); break;
    }
    if (form < 2)
        moved();
    else
        wait_for_it();
    settle(fh);
    SAME(MPI_File_get_position_shared(fh, &at), MPI_SUCCESS);
    SAME(at, (MPI_Offset)size * EACH);
    MPI_Barrier(MPI_COMM_WORLD);
    SAME(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET), MPI_SUCCESS);
    switch (form) {
    case 0: SAME(MPI_File_read_shared(fh, found, EACH, MPI_INT, &status), MPI_SUCCESS); break;
    case 1: SAME(MPI_File_read_shared_c(fh, found, EACH, MPI_INT, &status), MPI_SUCCESS); break;
    case 2: SAME(MPI_File_iread_shared(fh, found, EACH, MPI_INT, &request), MPI_SUCCESS); break;
    default: SAME(MPI_File_iread_shared_c(fh, found, EACH, MPI_INT, &request), MPI_SUCCESS); break;
    }
    if (form < 2)
        moved();
    else
        wait_for_it();
    int member = found[0] / 100000, mask, all;
    is_part_of(member, form);
    mask = 1 << member;
    MPI_Allreduce(&mask, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    SAME(all, (1 << size) - 1);
}

/* A rank that waits for something else takes part in what the others wait for. */
static void progress(MPI_File fh)
{
    int token = 0;
    fresh_numbers(99);
    SAME(MPI_File_iwrite_at_all(fh, (MPI_Offset)rank * EACH, written, EACH, MPI_INT, &request), MPI_SUCCESS);
    if (rank == 0) {
        for (int from = 1; from < size; from++)
            MPI_Recv(&token, 1, MPI_INT, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        wait_for_it();
    } else {
        wait_for_it();
        MPI_Send(&token, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    }
    settle(fh);
    SAME(MPI_File_iread_at(fh, (MPI_Offset)((rank + 1) % size) * EACH, found, EACH, MPI_INT, &request), MPI_SUCCESS);
    for (int done = 0; !done;) SAME(MPI_Test(&request, &done, &status), MPI_SUCCESS);
    moved();
    is_part_of((rank + 1) % size, 99);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    name_file("files_forms");
    MPI_File fh = fresh(MPI_MODE_RDWR);
    SAME(MPI_File_set_view(fh, 12, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), MPI_SUCCESS);
    for (int form = 0; form < WRITES || form < READS; form++) {
        fresh_numbers(form);
        MPI_Barrier(MPI_COMM_WORLD);
        SAME(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET), MPI_SUCCESS);
        write_by(form % WRITES, fh);
        settle(fh);
        SAME(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET), MPI_SUCCESS);
        read_by((form * 7 + 5) % READS, fh);
        is_part_of(rank, form);
    }
    for (int form = 0; form < 4; form++) shared(fh, form);
    progress(fh);
    SAME(MPI_File_close(&fh), MPI_SUCCESS);
    return conclude();
}
