/* Corelace's extensions (corelace.h): declared work, the local communicator, raw mailboxes and portals. */
#include "check.h"

#include <corelace.h>

static unsigned char block[70000], room[70000];

static void communicators(void)
{
    int flag = -1, result, same;
    SAME(MPIX_Io_rank(&flag), MPI_SUCCESS);
    SAME(flag, 0);
    MPI_Comm_compare(MPI_COMM_WORLD, MPIX_COMM_LOCAL, &result);
    SAME(result, MPI_CONGRUENT);
    MPI_Comm_rank(MPIX_COMM_LOCAL, &same);
    SAME(same, rank);
    MPI_Allreduce(&rank, &same, 1, MPI_INT, MPI_SUM, MPIX_COMM_LOCAL);
    SAME(same, size * (size - 1) / 2);
}

/* Everybody writes ten messages of growing length to everybody, itself included. */
static void mailboxes(void)
{
    int next[64] = {0};
    for (int n = 0; n < 10; n++) {
        for (int to = 0; to < size; to++) {
            fill(block, MPIX_MAILBOX_MAX, rank, n);
            SAME(MPIX_Mailbox_write(to, block, 12 * n), MPI_SUCCESS);
        }
    }
    for (int n = 0; n < 10 * size; n++) {
        int source = -1;
        memset(room, 0xee, sizeof room);
        SAME(MPIX_Mailbox_read(room, MPIX_MAILBOX_MAX, &source), MPI_SUCCESS);
        CHECK(source >= 0 && source < size);
        fill(block, MPIX_MAILBOX_MAX, source, next[source]);
        CHECK(memcmp(room, block, (size_t)(12 * next[source])) == 0);
        SAME(room[12 * next[source]], 0xee);
        next[source]++;
    }
    for (int from = 0; from < size; from++) SAME(next[from], 10);
}

/* Blocks go round a ring: odd ranks read first. */
static void portals(void)
{
    static const MPI_Count sizes[] = {0, 1, 96, 4096, 4097, 70000};
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    if (size % 2 != 0) return; /* both calls wait for the other side */
    for (int n = 0; n < 6; n++) {
        for (int turn = 0; turn < 2; turn++) {
            if (turn == rank % 2) {
                fill(block, sizes[n], rank, n);
                SAME(MPIX_Portal_write(right, block, sizes[n]), MPI_SUCCESS);
            } else {
                memset(room, 0, sizeof room);
                SAME(MPIX_Portal_allow(left), MPI_SUCCESS);
                SAME(MPIX_Portal_read(room, sizes[n], left), MPI_SUCCESS);
                fill(block, sizes[n], left, n);
                CHECK(memcmp(room, block, (size_t)sizes[n]) == 0);
            }
        }
    }
}

static int class_of(int code)
{
    int class;
    MPI_Error_class(code, &class);
    return class;
}

static void mistakes(void)
{
    int source;
    MPI_Comm local = MPIX_COMM_LOCAL;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPIX_COMM_LOCAL, MPI_ERRORS_RETURN);
    SAME(class_of(MPIX_Compute(-1)), MPI_ERR_COUNT);
    SAME(class_of(MPIX_Compute_cores(-1, 1)), MPI_ERR_COUNT);
    SAME(class_of(MPIX_Compute_cores(1, -1)), MPI_ERR_COUNT);
    SAME(class_of(MPIX_Compute_cores(1, 0)), MPI_ERR_ARG);
    SAME(class_of(MPIX_Segment_place(block, -1, 0)), MPI_ERR_COUNT);
    SAME(class_of(MPIX_Segment_place(NULL, 8, 0)), MPI_ERR_BUFFER);
    SAME(class_of(MPIX_Io_rank(NULL)), MPI_ERR_ARG);
    SAME(class_of(MPIX_Mailbox_write(size, block, 1)), MPI_ERR_RANK);
    SAME(class_of(MPIX_Mailbox_write(-1, block, 1)), MPI_ERR_RANK);
    SAME(class_of(MPIX_Mailbox_write(0, block, -1)), MPI_ERR_COUNT);
    SAME(class_of(MPIX_Mailbox_write(0, NULL, 1)), MPI_ERR_BUFFER);
    SAME(class_of(MPIX_Mailbox_write(0, block, MPIX_MAILBOX_MAX + 1)), MPI_ERR_ARG);
    SAME(class_of(MPIX_Mailbox_read(block, 8, NULL)), MPI_ERR_ARG);
    SAME(class_of(MPIX_Portal_allow(size)), MPI_ERR_RANK);
    SAME(class_of(MPIX_Portal_read(room, 8, rank)), MPI_ERR_ARG);
    SAME(class_of(MPIX_Portal_write(-3, block, 8)), MPI_ERR_RANK);
    SAME(class_of(MPI_Comm_free(&local)), MPI_ERR_COMM);
    MPIX_Mailbox_write(rank, block, 9);
    SAME(class_of(MPIX_Mailbox_read(room, 8, &source)), MPI_ERR_TRUNCATE);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    SAME(MPIX_Compute(1000000000000), MPI_SUCCESS);
    SAME(PMPIX_Compute(0), MPI_SUCCESS);
    SAME(MPIX_Compute_cores(1000, 1), MPI_SUCCESS);
    communicators();
    mailboxes();
    portals();
    mistakes();
    return conclude();
}
