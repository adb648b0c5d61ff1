/* MPI_Sendrecv of short messages: with a partner that is there, early or late, past other messages, with errors of either side, with nobody and with oneself. */
#include "check.h"

enum { MOST = 20000 };

static unsigned char out[MOST], in[MOST];

/* One exchange in a ring, of so many bytes; the receive has room for more. */
static void exchange(int bytes, int message)
{
    int next = (rank + 1) % size, before = (rank + size - 1) % size, count;
    MPI_Status status;
    fill(out, bytes, rank, message);
    memset(in, 0, bytes + 1);
    MPI_Sendrecv(out, bytes, MPI_BYTE, next, message, in, bytes + 1, MPI_BYTE, before, message, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_BYTE, &count);
    SAME(count, bytes);
    SAME(status.MPI_SOURCE, before);
    SAME(status.MPI_TAG, message);
    for (int i = 0; i < bytes; i++) CHECK(in[i] == pattern(before, message, i));
    SAME(in[bytes], 0);
}

static void of_every_length(void)
{
    static const int lengths[] = {0, 1, 7, 8, 9, 55, 56, 96, 97, 500, 2000, 4095, 4096, 9000, 16383, 16384, 19999};
    for (int again = 0; again < 3; again++)
        for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++) exchange(lengths[i], (int)i);
}

/* Each in turn comes later than its partners look for what it sends: these go on by the way that waits. */
static void with_a_late_partner(void)
{
    for (int message = 0; message < 3 * size; message++) {
        if (message % size == rank)
            for (double until = MPI_Wtime() + 2e-3; MPI_Wtime() < until;) {}
        exchange(40, message);
    }
}

/* What lies before the message in the mailbox stays there. */
static void past_other_messages(void)
{
    int next = (rank + 1) % size, before = (rank + size - 1) % size, got = -1;
    for (int message = 0; message < 50; message++) {
        int other = rank * 1000 + message;
        MPI_Send(&other, 1, MPI_INT, next, 7, MPI_COMM_WORLD);
        exchange(message * 5, 8);
        MPI_Recv(&got, 1, MPI_INT, before, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        SAME(got, before * 1000 + message);
    }
}

static void with_nobody_and_anybody(void)
{
    int one = rank, got = -5, count, next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Status status;
    MPI_Sendrecv(&one, 1, MPI_INT, MPI_PROC_NULL, 1, &got, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status);
    SAME(got, -5);
    SAME(status.MPI_SOURCE, MPI_PROC_NULL);
    MPI_Get_count(&status, MPI_INT, &count);
    SAME(count, 0);
    /* The ends of a line have a partner on one side only. */
    MPI_Sendrecv(&one, 1, MPI_INT, rank + 1 < size ? rank + 1 : MPI_PROC_NULL, 2, &got, 1, MPI_INT, rank > 0 ? rank - 1 : MPI_PROC_NULL, 2, MPI_COMM_WORLD,
                 &status);
    SAME(got, rank > 0 ? rank - 1 : -5);
    MPI_Sendrecv(&one, 1, MPI_INT, next, 3, &got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    SAME(got, before);
    SAME(status.MPI_SOURCE, before);
    SAME(status.MPI_TAG, 3);
    MPI_Sendrecv(&one, 1, MPI_INT, rank, 4, &got, 1, MPI_INT, rank, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    SAME(got, rank);
}

/* An error of the receive's arguments is found before anything is sent; one of its message after. */
static void with_errors(void)
{
    int next = (rank + 1) % size, before = (rank + size - 1) % size, class, there;
    long one = rank, got = 0;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Error_class(MPI_Sendrecv(&one, 1, MPI_LONG, next, 5, &got, 1, MPI_LONG, size, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE), &class);
    SAME(class, MPI_ERR_RANK);
    MPI_Error_class(MPI_Sendrecv(&one, 1, MPI_LONG, next, 5, &got, -1, MPI_LONG, before, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE), &class);
    SAME(class, MPI_ERR_COUNT);
    MPI_Error_class(MPI_Sendrecv(&one, 1, MPI_LONG, next, -5, &got, 1, MPI_LONG, before, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE), &class);
    SAME(class, MPI_ERR_TAG);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    SAME(there, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Error_class(MPI_Sendrecv(&one, 1, MPI_LONG, next, 6, &got, 1, MPI_INT, before, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE), &class);
    SAME(class, MPI_ERR_TRUNCATE);
    /* It was sent once: this is the next that comes. */
    one = rank + 100;
    MPI_Sendrecv(&one, 1, MPI_LONG, next, 6, &got, 1, MPI_LONG, before, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    SAME(got, before + 100);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    of_every_length();
    with_a_late_partner();
    past_other_messages();
    with_nobody_and_anybody();
    with_errors();
    return conclude();
}
