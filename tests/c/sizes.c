/* Messages of sizes around every threshold of every protocol, whichever side is first. */
#include "check.h"

static const size_t around[] = {1,     8,     24,    40,    64,    96,     128,    1024,    2048,   4096,
                              8192,  16384, 32768, 65536, 98304, 131072, 262144, 1048576, 3000000};
enum { MOST = 3000001 };
static unsigned char *out, *in;

static void wait_for(int peer) { MPI_Recv(NULL, 0, MPI_INT, peer, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }
static void tell(int peer) { MPI_Send(NULL, 0, MPI_INT, peer, 9, MPI_COMM_WORLD); }

/* In `order` 0 the receive is posted before the message is sent, in 1 the message has been sent before, in 2 nobody waits. */
static void one_way(int from, int to, size_t bytes, int order, int source, int tag)
{
    MPI_Request request;
    MPI_Status status;
    int count;
    if (rank == from) {
        fill(out, bytes, rank, order);
        out[bytes] = 0;
        if (order == 0) wait_for(to);
        MPI_Isend(out, bytes, MPI_BYTE, to, 4, MPI_COMM_WORLD, &request);
        if (order == 1) tell(to);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (rank == to) {
        memset(in, 0xee, bytes + 1);
        if (order == 1) wait_for(from);
        MPI_Irecv(in, MOST, MPI_BYTE, source, tag, MPI_COMM_WORLD, &request);
        if (order == 0) tell(from);
        MPI_Wait(&request, &status);
        MPI_Get_count(&status, MPI_BYTE, &count);
        SAME(count, bytes);
        SAME(status.MPI_SOURCE, from);
        SAME(differs(in, bytes, from, order), -1);
        SAME(in[bytes], 0xee);
    }
}

/* Both directions at once, exact room. */
static void crossed(size_t bytes)
{
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    MPI_Request requests[2];
    fill(out, bytes, rank, 8);
    memset(in, 0, bytes);
    MPI_Isend(out, bytes, MPI_BYTE, next, 5, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(in, bytes, MPI_BYTE, previous, 5, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    SAME(differs(in, bytes, previous, 8), -1);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    out = malloc(MOST + 1);
    in = malloc(MOST + 1);
    one_way(0, 1, 0, 0, 0, 4);
    for (unsigned i = 0; i < sizeof around / sizeof *around; i++)
        for (size_t bytes = around[i] - 1; bytes <= around[i] + 1 && bytes < MOST; bytes++) {
            for (int order = 0; order < 3; order++) {
                one_way(0, 1, bytes, order, 0, 4);
                one_way(1, 0, bytes, order, MPI_ANY_SOURCE, 4);
                one_way(0, 1, bytes, order, order ? 0 : MPI_ANY_SOURCE, order == 1 ? 4 : MPI_ANY_TAG);
                MPI_Barrier(MPI_COMM_WORLD);
            }
            crossed(bytes);
        }
    free(out);
    free(in);
    return conclude();
}
