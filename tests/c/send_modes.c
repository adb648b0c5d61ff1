/* The modes of sending: standard, synchronous, buffered, ready, blocking and not; combined calls; MPI_PROC_NULL. */
#include "check.h"

enum { MANY = 300000 };
static unsigned char out[MANY], in[MANY];

/* Every pair (rank, rank + 1) of a ring exchanges one message by every mode. */
static void deliver(int mode, int bytes)
{
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    MPI_Request receive, request = MPI_REQUEST_NULL;
    MPI_Status status;
    fill(out, bytes, rank, mode);
    memset(in, 0, bytes);
    MPI_Irecv(in, bytes, MPI_BYTE, previous, mode, MPI_COMM_WORLD, &receive);
    MPI_Barrier(MPI_COMM_WORLD); /* a ready send needs a posted receive */
    switch (mode) {
    case 0: MPI_Send(out, bytes, MPI_BYTE, next, mode, MPI_COMM_WORLD); break;
    case 1: MPI_Ssend(out, bytes, MPI_BYTE, next, mode, MPI_COMM_WORLD); break;
    case 2: MPI_Bsend(out, bytes, MPI_BYTE, next, mode, MPI_COMM_WORLD); break;
    case 3: MPI_Rsend(out, bytes, MPI_BYTE, next, mode, MPI_COMM_WORLD); break;
    case 4: MPI_Isend(out, bytes, MPI_BYTE, next, mode, MPI_COMM_WORLD, &request); break;
    case 5: MPI_Issend(out, bytes, MPI_BYTE, next, mode, MPI_COMM_WORLD, &request); break;
    case 6: MPI_Ibsend(out, bytes, MPI_BYTE, next, mode, MPI_COMM_WORLD, &request); break;
    case 7: MPI_Irsend(out, bytes, MPI_BYTE, next, mode, MPI_COMM_WORLD, &request); break;
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(request == MPI_REQUEST_NULL);
    MPI_Wait(&receive, &status);
    int count;
    MPI_Get_count(&status, MPI_BYTE, &count);
    SAME(count, bytes);
    SAME(status.MPI_SOURCE, previous);
    SAME(status.MPI_TAG, mode);
    SAME(differs(in, bytes, previous, mode), -1);
}

/* A synchronous send is not complete before its receive has started; a buffered one is, whatever its size. */
static void synchronise(void)
{
    MPI_Request request;
    int flag = 1, token = 0;
    if (rank == 0) {
        MPI_Issend(out, 10, MPI_BYTE, 1, 20, MPI_COMM_WORLD, &request);
        for (int i = 0; i < 100; i++) {
            MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
            CHECK(!flag);
        }
        MPI_Send(&token, 1, MPI_INT, 1, 21, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        fill(out, MANY, 0, 22);
        MPI_Bsend(out, MANY, MPI_BYTE, 1, 22, MPI_COMM_WORLD);
        memset(out, 0, MANY); /* mine again, though nobody has received it */
        MPI_Send(&token, 1, MPI_INT, 1, 23, MPI_COMM_WORLD);
    } else if (rank == 1) {
        MPI_Recv(&token, 1, MPI_INT, 0, 21, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(in, 10, MPI_BYTE, 0, 20, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(&token, 1, MPI_INT, 0, 23, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(in, MANY, MPI_BYTE, 0, 22, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        SAME(differs(in, MANY, 0, 22), -1);
    }
}

static void combine(void)
{
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    MPI_Status status;
    fill(out, MANY, rank, 30);
    MPI_Sendrecv(out, MANY, MPI_BYTE, next, 30, in, MANY, MPI_BYTE, previous, 30, MPI_COMM_WORLD, &status);
    SAME(differs(in, MANY, previous, 30), -1);
    MPI_Sendrecv_replace(out, MANY, MPI_BYTE, next, 31, MPI_ANY_SOURCE, 31, MPI_COMM_WORLD, &status);
    SAME(status.MPI_SOURCE, previous);
    SAME(differs(out, MANY, previous, 30), -1);
    /* To myself. */
    MPI_Sendrecv(out, 1000, MPI_BYTE, rank, 32, in, 1000, MPI_BYTE, rank, 32, MPI_COMM_WORLD, &status);
    SAME(differs(in, 1000, previous, 30), -1);
}

static void nobody(void)
{
    MPI_Status status;
    MPI_Request request;
    int count = 7;
    in[0] = 99;
    MPI_Ssend(out, 5, MPI_BYTE, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
    MPI_Recv(in, 5, MPI_BYTE, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status);
    SAME(status.MPI_SOURCE, MPI_PROC_NULL);
    SAME(status.MPI_TAG, MPI_ANY_TAG);
    MPI_Get_count(&status, MPI_BYTE, &count);
    SAME(count, 0);
    SAME(in[0], 99);
    MPI_Irecv(in, 5, MPI_BYTE, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, &status);
    SAME(status.MPI_SOURCE, MPI_PROC_NULL);
    MPI_Probe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status);
    SAME(status.MPI_SOURCE, MPI_PROC_NULL);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    int room = 4 * (MANY + MPI_BSEND_OVERHEAD), detached;
    void *buffer = malloc(room), *back;
    MPI_Buffer_attach(buffer, room);
    for (int mode = 0; mode < 8; mode++) {
        deliver(mode, 0);
        deliver(mode, 100);
        deliver(mode, MANY);
    }
    synchronise();
    combine();
    nobody();
    MPI_Buffer_detach(&back, &detached);
    CHECK(back == buffer);
    SAME(detached, room);
    free(buffer);
    return conclude();
}
