/* Point-to-point in all forms, in a ring of any size. */
#include "expect.h"
#include <stdlib.h>

static int rank, size, next, previous;

static void modes(void) {
    int out = rank, in = -1, bytes;
    void *room;
    MPI_Request requests[2];
    MPI_Status status;
    MPI_Pack_size(1, MPI_INT, MPI_COMM_WORLD, &bytes);
    room = malloc(bytes + MPI_BSEND_OVERHEAD);
    MPI_Buffer_attach(room, bytes + MPI_BSEND_OVERHEAD);
    MPI_Bsend(&out, 1, MPI_INT, next, 1, MPI_COMM_WORLD);
    MPI_Recv(&in, 1, MPI_INT, previous, 1, MPI_COMM_WORLD, &status);
    EXPECT(in == previous && status.MPI_SOURCE == previous && status.MPI_TAG == 1);
    MPI_Buffer_detach(&room, &bytes);
    free(room);
    for (int mode = 0; mode < 3; mode++) {
        in = -1;
        MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]);
        MPI_Barrier(MPI_COMM_WORLD);
        if (mode == 0) MPI_Isend(&out, 1, MPI_INT, next, mode, MPI_COMM_WORLD, &requests[1]);
        if (mode == 1) MPI_Issend(&out, 1, MPI_INT, next, mode, MPI_COMM_WORLD, &requests[1]);
        if (mode == 2) MPI_Irsend(&out, 1, MPI_INT, next, mode, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        EXPECT(in == previous && requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
    }
    MPI_Sendrecv(&out, 1, MPI_INT, next, 4, &in, 1, MPI_INT, previous, 4, MPI_COMM_WORLD, &status);
    EXPECT(in == previous);
    in = rank;
    MPI_Sendrecv_replace(&in, 1, MPI_INT, next, 4, previous, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    EXPECT(in == previous);
    MPI_Send(&out, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    MPI_Recv(&in, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status);
    EXPECT(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);
}

static void persistent(void) {
    int out = 0, in = -1, flag;
    MPI_Request requests[2];
    MPI_Send_init(&out, 1, MPI_INT, next, 2, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(&in, 1, MPI_INT, previous, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Test(&requests[1], &flag, MPI_STATUS_IGNORE);
    EXPECT(flag && requests[1] != MPI_REQUEST_NULL);
    for (int round = 0; round < 5; round++) {
        out = 100 * round + rank;
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        EXPECT(in == 100 * round + previous && requests[0] != MPI_REQUEST_NULL);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

static void probes(void) {
    double out[3] = {1, 2, 3}, in[3];
    int count, flag = 0;
    MPI_Message message;
    MPI_Status status;
    MPI_Request request;
    MPI_Isend(out, 3, MPI_DOUBLE, next, 999, MPI_COMM_WORLD, &request);
    MPI_Probe(previous, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_DOUBLE, &count);
    EXPECT(count == 3 && status.MPI_TAG == 999);
    MPI_Get_count(&status, MPI_LONG_DOUBLE, &count);
    EXPECT(count == MPI_UNDEFINED);
    while (!flag) MPI_Improbe(MPI_ANY_SOURCE, 999, MPI_COMM_WORLD, &flag, &message, &status);
    MPI_Mrecv(in, 3, MPI_DOUBLE, &message, &status);
    EXPECT(message == MPI_MESSAGE_NULL && in[2] == 3);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Iprobe(previous, 999, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    EXPECT(!flag);
}

static void several(void) {
    enum { MANY = 50 };
    int in[MANY], out[MANY], indices[MANY], done = 0, some, index, flag;
    MPI_Request receives[MANY], sends[MANY];
    MPI_Status statuses[MANY];
    for (int i = 0; i < MANY; i++) MPI_Irecv(&in[i], 1, MPI_INT, previous, i, MPI_COMM_WORLD, &receives[i]);
    for (int i = MANY - 1; i >= 0; i--) {
        out[i] = i;
        MPI_Isend(&out[i], 1, MPI_INT, next, i, MPI_COMM_WORLD, &sends[i]);
    }
    MPI_Waitany(MANY, receives, &index, statuses);
    EXPECT(index >= 0 && index < MANY && receives[index] == MPI_REQUEST_NULL && in[index] == index);
    done = 1;
    while (done < MANY) {
        MPI_Waitsome(MANY, receives, &some, indices, statuses);
        EXPECT(some > 0);
        for (int i = 0; i < some; i++) EXPECT(in[indices[i]] == indices[i] && statuses[i].MPI_TAG == indices[i]);
        done += some;
    }
    MPI_Waitsome(MANY, receives, &some, indices, statuses);
    EXPECT(some == MPI_UNDEFINED);
    flag = 0;
    while (!flag) MPI_Testall(MANY, sends, &flag, MPI_STATUSES_IGNORE);
    MPI_Testany(MANY, sends, &index, &flag, statuses);
    EXPECT(flag && index == MPI_UNDEFINED);
    MPI_Irecv(in, 1, MPI_INT, previous, 77, MPI_COMM_WORLD, receives);
    MPI_Cancel(receives);
    MPI_Wait(receives, statuses);
    MPI_Test_cancelled(statuses, &flag);
    EXPECT(flag);
}

static void large(void) {
    int count = 1 << 20;
    int *out = malloc(sizeof(int) * count), *in = malloc(sizeof(int) * count);
    for (int i = 0; i < count; i++) out[i] = i ^ rank;
    MPI_Sendrecv_c(out, count, MPI_INT, next, 0, in, count, MPI_INT, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < count; i += 997) EXPECT(in[i] == (i ^ previous));
    free(out), free(in);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    next = (rank + 1) % size;
    previous = (rank + size - 1) % size;
    modes();
    persistent();
    probes();
    several();
    large();
    MPI_Finalize();
    return failures;
}
