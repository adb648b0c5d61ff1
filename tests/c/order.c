/* Messages of one sender are received in the order in which they were sent, whatever their sizes and protocols, also by
 * receives that leave the source or the tag open. */
#include "check.h"

enum { MESSAGES = 400 };

static int length_of(int message)
{
    static const int lengths[] = {1, 300, 9, 20000, 2, 3000, 70000, 10, 600};
    return lengths[message % 9];
}

static void send_all(int to, int tag)
{
    for (int m = 0; m < MESSAGES; m++) {
        static int out[70000];
        out[0] = m;
        out[length_of(m) - 1] = m;
        MPI_Send(out, length_of(m), MPI_INT, to, tag, MPI_COMM_WORLD);
    }
}

/* Any source, one tag: each sender's numbers rise by one. */
static void from_anyone(void)
{
    static int in[70000], expected[1024];
    for (int left = (size - 1) * MESSAGES; left > 0; left--) {
        MPI_Status status;
        int count;
        MPI_Recv(in, 70000, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
        int m = expected[status.MPI_SOURCE]++;
        MPI_Get_count(&status, MPI_INT, &count);
        SAME(count, length_of(m));
        SAME(in[0], m);
        SAME(in[count - 1], m);
    }
}

/* Posted receives: those that leave something open and those that do not are matched in the order of posting. */
static void posted(void)
{
    enum { POSTED = 60 };
    static int in[POSTED];
    MPI_Request requests[POSTED];
    MPI_Status statuses[POSTED];
    if (rank == 0) {
        for (int i = 0; i < POSTED; i++)
            MPI_Irecv(&in[i], 1, MPI_INT, i % 3 == 0 ? MPI_ANY_SOURCE : 1, i % 2 ? MPI_ANY_TAG : 7, MPI_COMM_WORLD,
                      &requests[i]);
        MPI_Send(NULL, 0, MPI_INT, 1, 8, MPI_COMM_WORLD);
        MPI_Waitall(POSTED, requests, statuses);
        for (int i = 0; i < POSTED; i++) {
            SAME(in[i], i);
            SAME(statuses[i].MPI_TAG, 7);
        }
    } else if (rank == 1) {
        MPI_Recv(NULL, 0, MPI_INT, 0, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < POSTED; i++) MPI_Send(&i, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
    }
}

/* Unexpected messages: a receive by tag takes the right one out of the middle; the rest keeps its order. */
static void unexpected(void)
{
    enum { SENT = 100 };
    int number;
    if (rank == 0) {
        for (int i = 0; i < SENT; i++) MPI_Send(&i, 1, MPI_INT, 1, i % 10, MPI_COMM_WORLD);
        MPI_Send(NULL, 0, MPI_INT, 1, 99, MPI_COMM_WORLD);
    } else if (rank == 1) {
        MPI_Recv(NULL, 0, MPI_INT, 0, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < SENT / 10; i++) {
            MPI_Recv(&number, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            SAME(number, 10 * i + 5);
        }
        for (int i = 0; i < SENT; i++) {
            if (i % 10 == 5) continue;
            MPI_Recv(&number, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            SAME(number, i);
        }
    }
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    if (rank == 0)
        from_anyone();
    else
        send_all(0, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    posted();
    unexpected();
    return conclude();
}
