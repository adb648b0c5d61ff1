/* Probes: what they see is what a receive gets; a matched message belongs to whoever matched it. */
#include "check.h"

static const int lengths[] = {0, 5, 700, 50000};
enum { KINDS = 4, LONGEST = 50000 };
static int data[LONGEST];

/* Rank 0 sees every message before it receives it, from whom it does not know. */
static void seen_before(int matched, int blocking)
{
    if (rank > 0) {
        for (int k = 0; k < KINDS; k++) {
            for (int i = 0; i < lengths[k]; i++) data[i] = rank * 100 + k;
            MPI_Send(data, lengths[k], MPI_INT, 0, 10 + k, MPI_COMM_WORLD);
        }
    } else {
        int got[1024] = {0};
        for (int left = (size - 1) * KINDS; left > 0; left--) {
            MPI_Message message = MPI_MESSAGE_NULL;
            MPI_Status probed, received;
            int flag = 0, count;
            if (matched && blocking)
                MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &probed);
            else if (matched)
                while (!flag) MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message, &probed);
            else if (blocking)
                MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &probed);
            else
                while (!flag) MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &probed);
            MPI_Get_count(&probed, MPI_INT, &count);
            int k = got[probed.MPI_SOURCE]++;
            SAME(probed.MPI_TAG, 10 + k); /* in the order of sending */
            SAME(count, lengths[k]);
            data[0] = -1;
            if (matched && left % 2) {
                MPI_Request request;
                MPI_Imrecv(data, count, MPI_INT, &message, &request);
                CHECK(message == MPI_MESSAGE_NULL);
                MPI_Wait(&request, &received);
            } else if (matched) {
                MPI_Mrecv(data, count, MPI_INT, &message, &received);
                CHECK(message == MPI_MESSAGE_NULL);
            } else {
                MPI_Recv(data, count, MPI_INT, probed.MPI_SOURCE, probed.MPI_TAG, MPI_COMM_WORLD, &received);
            }
            SAME(received.MPI_SOURCE, probed.MPI_SOURCE);
            SAME(received.MPI_TAG, probed.MPI_TAG);
            if (count) SAME(data[count - 1], probed.MPI_SOURCE * 100 + k);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A message that was matched is not seen again; the next one is. */
static void taken_once(void)
{
    int value = 1, flag = 1;
    MPI_Message first, second;
    if (rank == 1) {
        MPI_Send(&value, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
        value = 2;
        MPI_Send(&value, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
    } else if (rank == 0) {
        MPI_Mprobe(1, 3, MPI_COMM_WORLD, &first, MPI_STATUS_IGNORE);
        MPI_Mprobe(1, 3, MPI_COMM_WORLD, &second, MPI_STATUS_IGNORE);
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        CHECK(!flag);
        MPI_Mrecv(&value, 1, MPI_INT, &second, MPI_STATUS_IGNORE);
        SAME(value, 2);
        MPI_Mrecv(&value, 1, MPI_INT, &first, MPI_STATUS_IGNORE);
        SAME(value, 1);
    }
    MPI_Message nothing;
    MPI_Status status;
    MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &nothing, &status);
    CHECK(nothing == MPI_MESSAGE_NO_PROC);
    MPI_Mrecv(&value, 1, MPI_INT, &nothing, &status);
    SAME(status.MPI_SOURCE, MPI_PROC_NULL);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    for (int matched = 0; matched < 2; matched++)
        for (int blocking = 0; blocking < 2; blocking++) seen_before(matched, blocking);
    taken_once();
    return conclude();
}
