/* Sends and receives in one request, and buffers for the messages of one communicator. */
#include "check.h"

enum { LONG = 300000 };

static void one_request(int bytes)
{
    unsigned char *out = malloc(bytes + 1), *in = malloc(bytes + 1);
    int next = (rank + 1) % size, before = (rank + size - 1) % size, count;
    MPI_Request request;
    MPI_Status status;
    for (int form = 0; form < 5; form++) {
        fill(out, bytes, rank, form);
        memset(in, 0, bytes);
        switch (form) {
        case 0:
            MPI_Isendrecv(out, bytes, MPI_BYTE, next, 5, in, bytes, MPI_BYTE, before, 5, MPI_COMM_WORLD, &request);
            break;
        case 1:
            MPI_Isendrecv_c(out, bytes, MPI_BYTE, next, 5, in, bytes, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
            break;
        case 2:
            memcpy(in, out, bytes);
            MPI_Isendrecv_replace(in, bytes, MPI_BYTE, next, 5, before, 5, MPI_COMM_WORLD, &request);
            break;
        case 3:
            memcpy(in, out, bytes);
            MPI_Isendrecv_replace_c(in, bytes, MPI_BYTE, next, 5, before, 5, MPI_COMM_WORLD, &request);
            break;
        default:
            MPI_Isendrecv(out, bytes, MPI_BYTE, MPI_PROC_NULL, 5, in, bytes, MPI_BYTE, MPI_PROC_NULL, 5, MPI_COMM_WORLD, &request);
        }
        if (form % 2) {
            int flag = 0;
            while (!flag) MPI_Test(&request, &flag, &status);
        } else {
            MPI_Wait(&request, &status);
        }
        CHECK(request == MPI_REQUEST_NULL);
        MPI_Get_count(&status, MPI_BYTE, &count);
        if (form == 4) {
            SAME(status.MPI_SOURCE, MPI_PROC_NULL);
            SAME(count, 0);
            continue;
        }
        SAME(status.MPI_SOURCE, before);
        SAME(status.MPI_TAG, 5);
        SAME(count, bytes);
        SAME(differs(in, bytes, before, form), -1);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    free(out);
    free(in);
}

static void buffers_of_communicators(void)
{
    static char room[LONG + MPI_BSEND_OVERHEAD], small[200 + MPI_BSEND_OVERHEAD];
    static unsigned char out[LONG], in[LONG];
    void *back;
    int size_back, class, next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Count size_back_c;
    MPI_Comm twin;
    MPI_Request request;
    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    MPI_Comm_set_errhandler(twin, MPI_ERRORS_RETURN);
    MPI_Buffer_attach(small, sizeof small);
    MPI_Comm_attach_buffer(twin, room, sizeof room);
    MPI_Error_class(MPI_Comm_attach_buffer(twin, room, sizeof room), &class);
    SAME(class, MPI_ERR_BUFFER);
    fill(out, LONG, rank, 1);
    /* Too long for the buffer of the process: it is booked on that of its communicator. */
    MPI_Bsend(out, LONG, MPI_BYTE, next, 1, twin);
    MPI_Comm_iflush_buffer(twin, &request);
    MPI_Recv(in, LONG, MPI_BYTE, before, 1, twin, MPI_STATUS_IGNORE);
    SAME(differs(in, LONG, before, 1), -1);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Bsend(out, 100, MPI_BYTE, next, 2, MPI_COMM_WORLD);
    MPI_Buffer_iflush(&request);
    MPI_Recv(in, 100, MPI_BYTE, before, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Error_class(MPI_Bsend(out, LONG, MPI_BYTE, next, 3, MPI_COMM_WORLD), &class);
    SAME(class, MPI_ERR_BUFFER);
    MPI_Comm_flush_buffer(twin);
    MPI_Comm_detach_buffer(twin, &back, &size_back);
    CHECK(back == room && size_back == (int)sizeof room);
    /* Without one of its own a communicator uses that of the process. */
    MPI_Bsend(out, 100, MPI_BYTE, next, 4, twin);
    MPI_Recv(in, 100, MPI_BYTE, before, 4, twin, MPI_STATUS_IGNORE);
    MPI_Buffer_detach(&back, &size_back);
    CHECK(back == small);
    MPI_Comm_attach_buffer_c(twin, MPI_BUFFER_AUTOMATIC, 0);
    MPI_Bsend(out, LONG, MPI_BYTE, next, 5, twin);
    MPI_Recv(in, LONG, MPI_BYTE, before, 5, twin, MPI_STATUS_IGNORE);
    MPI_Comm_detach_buffer_c(twin, &back, &size_back_c);
    CHECK(back == MPI_BUFFER_AUTOMATIC);
    MPI_Error_class(MPI_Comm_detach_buffer(twin, &back, &size_back), &class);
    SAME(class, MPI_ERR_BUFFER);
    MPI_Comm_free(&twin);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    one_request(8);
    one_request(3000);
    one_request(LONG);
    buffers_of_communicators();
    return conclude();
}
