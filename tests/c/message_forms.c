/* Every form of send and receive, small and large counts, around a ring. */
#include "check.h"

static int after, before;
static MPI_Comm comm;
static long out[40], in[40];

static void reset(int message)
{
    for (int i = 0; i < 40; i++) {
        out[i] = rank * 100000 + message * 100 + i;
        in[i] = -1;
    }
}

static void expect(int message, int n, const MPI_Status *status, const char *call)
{
    MPI_Count count;
    MPI_Get_count_c(status, MPI_LONG, &count);
    int right = count == n && status->MPI_SOURCE == before && status->MPI_TAG == message;
    for (int i = 0; i < 40; i++) right &= in[i] == (i < n ? before * 100000L + message * 100 + i : -1);
    if (!right && failures++ < 20) fprintf(stderr, "rank %d, %s: not what rank %d sent\n", rank, call, before);
}

static void finish(MPI_Request *request, int persistent)
{
    if (persistent) MPI_Start(request);
    MPI_Wait(request, MPI_STATUS_IGNORE);
    if (persistent) MPI_Request_free(request);
}

/* A send into a receive that waits: for all modes, the ready one included. */
#define SENDS(message, post, send)                                                                                      \
    do {                                                                                                                \
        MPI_Request receive;                                                                                            \
        MPI_Status status;                                                                                              \
        reset(message);                                                                                                 \
        post(in, 40, MPI_LONG, before, message, comm, &receive);                                                        \
        MPI_Barrier(comm); /* posted everywhere */                                                                      \
        send;                                                                                                           \
        MPI_Wait(&receive, &status);                                                                                    \
        expect(message, 20, &status, #send);                                                                            \
    } while (0)
#define BLOCKING(message, name) SENDS(message, MPI_Irecv_c, name(out, 20, MPI_LONG, after, message, comm))
#define STARTED(message, name, persistent)                                                                              \
    SENDS(message, MPI_Irecv, do {                                                                                      \
        MPI_Request request;                                                                                            \
        name(out, 20, MPI_LONG, after, message, comm, &request);                                                        \
        finish(&request, persistent);                                                                                   \
    } while (0))

static void sends(void)
{
    BLOCKING(1, MPI_Send);
    BLOCKING(2, MPI_Send_c);
    BLOCKING(3, MPI_Ssend);
    BLOCKING(4, MPI_Ssend_c);
    BLOCKING(5, MPI_Rsend);
    BLOCKING(6, MPI_Rsend_c);
    BLOCKING(7, MPI_Bsend);
    BLOCKING(8, MPI_Bsend_c);
    STARTED(9, MPI_Isend, 0);
    STARTED(10, MPI_Isend_c, 0);
    STARTED(11, MPI_Issend, 0);
    STARTED(12, MPI_Issend_c, 0);
    STARTED(13, MPI_Irsend, 0);
    STARTED(14, MPI_Irsend_c, 0);
    STARTED(15, MPI_Ibsend, 0);
    STARTED(16, MPI_Ibsend_c, 0);
    STARTED(17, MPI_Send_init, 1);
    STARTED(18, MPI_Send_init_c, 1);
    STARTED(19, MPI_Ssend_init, 1);
    STARTED(20, MPI_Ssend_init_c, 1);
    STARTED(21, MPI_Rsend_init, 1);
    STARTED(22, MPI_Rsend_init_c, 1);
    STARTED(23, MPI_Bsend_init, 1);
    STARTED(24, MPI_Bsend_init_c, 1);
}

static void receives(void)
{
    MPI_Status status;
    MPI_Request request, sent;
    MPI_Message message;
    for (int form = 0; form < 10; form++) {
        int tag = 100 + form;
        reset(tag);
        MPI_Isend(out, 7, MPI_LONG, after, tag, comm, &sent);
        switch (form) {
        case 0: MPI_Recv(in, 40, MPI_LONG, before, tag, comm, &status); break;
        case 1: MPI_Recv_c(in, 40, MPI_LONG, before, tag, comm, &status); break;
        case 2:
            MPI_Recv_init(in, 40, MPI_LONG, before, tag, comm, &request);
            MPI_Start(&request);
            MPI_Wait(&request, &status);
            MPI_Request_free(&request);
            break;
        case 3:
            MPI_Recv_init_c(in, 40, MPI_LONG, before, tag, comm, &request);
            MPI_Startall(1, &request);
            MPI_Wait(&request, &status);
            MPI_Request_free(&request);
            break;
        default:
            MPI_Mprobe(before, tag, comm, &message, &status);
            if (form % 3 == 0) MPI_Mrecv(in, 40, MPI_LONG, &message, &status);
            else if (form % 3 == 1) MPI_Mrecv_c(in, 40, MPI_LONG, &message, &status);
            else {
                if (form == 5) MPI_Imrecv(in, 40, MPI_LONG, &message, &request);
                else MPI_Imrecv_c(in, 40, MPI_LONG, &message, &request);
                MPI_Wait(&request, &status);
            }
            CHECK(message == MPI_MESSAGE_NULL);
        }
        expect(tag, 7, &status, "receive");
        MPI_Wait(&sent, MPI_STATUS_IGNORE);
    }
}

static void exchanges(void)
{
    MPI_Status status;
    reset(200);
    MPI_Sendrecv(out, 9, MPI_LONG, after, 200, in, 40, MPI_LONG, before, 200, comm, &status);
    expect(200, 9, &status, "MPI_Sendrecv");
    reset(201);
    MPI_Sendrecv_c(out, 9, MPI_LONG, after, 201, in, 40, MPI_LONG, before, 201, comm, &status);
    expect(201, 9, &status, "MPI_Sendrecv_c");
    for (int large = 0; large < 2; large++) {
        int tag = 202 + large;
        reset(tag);
        memcpy(in, out, 9 * sizeof *in);
        if (large) MPI_Sendrecv_replace_c(in, 9, MPI_LONG, after, tag, before, tag, comm, &status);
        else MPI_Sendrecv_replace(in, 9, MPI_LONG, after, tag, before, tag, comm, &status);
        expect(tag, 9, &status, "MPI_Sendrecv_replace");
    }
}

int main(int argc, char **argv)
{
    static char memory[1 << 16];
    void *address = NULL;
    int bytes = 0;
    MPI_Count large = 0;
    begin(&argc, &argv);
    after = (rank + 1) % size;
    before = (rank + size - 1) % size;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Buffer_attach_c(memory, sizeof memory);
    sends();
    MPI_Buffer_flush();
    MPI_Buffer_detach_c(&address, &large);
    CHECK(address == memory && large == sizeof memory);
    MPI_Buffer_attach(memory, 4096);
    MPI_Buffer_detach(&address, &bytes);
    CHECK(address == memory && bytes == 4096);
    receives();
    exchanges();
    MPI_Comm_free(&comm);
    return conclude();
}
