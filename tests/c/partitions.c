/* Partitioned messages: parts in any order, other numbers of parts on the two sides, several with one tag that are started in another order than
 * they were set up, nobody at the other end, wrong arguments. */
#include "check.h"

enum { PARTS = 6, EACH = 1000 };

static void exchange(MPI_Comm comm)
{
    static int out[PARTS * EACH], in[PARTS * EACH];
    int next = (rank + 1) % size, before = (rank + size - 1) % size, flag;
    MPI_Request send, receive;
    MPI_Status status;
    MPI_Psend_init(out, PARTS, EACH, MPI_INT, next, 3, comm, MPI_INFO_NULL, &send);
    MPI_Precv_init(in, PARTS / 2, 2 * EACH, MPI_INT, before, 3, comm, MPI_INFO_NULL, &receive);
    MPI_Parrived(receive, 0, &flag);
    CHECK(flag); /* not started */
    for (int round = 0; round < 3; round++) {
        memset(in, 0, sizeof in);
        for (int i = 0; i < PARTS * EACH; i++) out[i] = 0;
        MPI_Start(&receive);
        MPI_Start(&send);
        MPI_Parrived(receive, 1, &flag);
        CHECK(!flag);
        MPI_Barrier(comm); /* nobody sends before all have looked */
        for (int i = 0; i < PARTS * EACH; i++) out[i] = rank * 100000 + round * 10000 + i;
        MPI_Pready(4, send);
        MPI_Test(&send, &flag, MPI_STATUS_IGNORE);
        CHECK(!flag);
        MPI_Pready_range(0, 2, send);
        MPI_Pready_list(2, (int[]){5, 3}, send);
        for (int part = 0; part < PARTS / 2; part++)
            do MPI_Parrived(receive, part, &flag);
            while (!flag);
        MPI_Wait(&receive, &status);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
        CHECK(receive != MPI_REQUEST_NULL && send != MPI_REQUEST_NULL);
        int count, wrong = 0;
        MPI_Get_count(&status, MPI_INT, &count);
        SAME(count, PARTS * EACH);
        SAME(status.MPI_SOURCE, before);
        SAME(status.MPI_TAG, 3);
        for (int i = 0; i < PARTS * EACH; i++) wrong += in[i] != before * 100000 + round * 10000 + i;
        SAME(wrong, 0);
    }
    MPI_Request_free(&send);
    MPI_Request_free(&receive);
}

static void by_set_up(void)
{
    int out[2] = {rank * 10, rank * 10 + 1}, in[2] = {-1, -1}, next = (rank + 1) % size, before = (rank + size - 1) % size, plain = -1;
    MPI_Request sends[2], receives[2], other;
    for (int i = 0; i < 2; i++) {
        MPI_Psend_init(&out[i], 1, 1, MPI_INT, next, 8, MPI_COMM_WORLD, MPI_INFO_NULL, &sends[i]);
        MPI_Precv_init(&in[i], 1, 1, MPI_INT, before, 8, MPI_COMM_WORLD, MPI_INFO_NULL, &receives[i]);
    }
    /* An ordinary message with the same tag is another matter. */
    MPI_Irecv(&plain, 1, MPI_INT, before, 8, MPI_COMM_WORLD, &other);
    MPI_Start(&sends[1]);
    MPI_Pready(0, sends[1]);
    MPI_Start(&sends[0]);
    MPI_Pready(0, sends[0]);
    MPI_Startall(2, receives);
    MPI_Waitall(2, receives, MPI_STATUSES_IGNORE);
    MPI_Waitall(2, sends, MPI_STATUSES_IGNORE);
    CHECK(in[0] == before * 10 && in[1] == before * 10 + 1);
    MPI_Send(&out[0], 1, MPI_INT, next, 8, MPI_COMM_WORLD);
    MPI_Wait(&other, MPI_STATUS_IGNORE);
    SAME(plain, before * 10);
    for (int i = 0; i < 2; i++) {
        MPI_Request_free(&sends[i]);
        MPI_Request_free(&receives[i]);
    }
}

/* A receive may have room for more than comes. */
static void shorter(void)
{
    int out[6] = {1, 2, 3, 4, 5, rank}, in[10], next = (rank + 1) % size, before = (rank + size - 1) % size, count;
    MPI_Request send, receive;
    MPI_Status status;
    MPI_Psend_init(out, 3, 2, MPI_INT, next, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &send);
    MPI_Precv_init(in, 2, 5, MPI_INT, before, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &receive);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 10; i++) in[i] = -1;
        MPI_Start(&send);
        MPI_Start(&receive);
        MPI_Pready_range(0, 2, send);
        MPI_Wait(&receive, &status);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
        MPI_Get_count(&status, MPI_INT, &count);
        SAME(count, 6);
        SAME(status.MPI_SOURCE, before);
        SAME(status.MPI_TAG, 4);
        CHECK(in[0] == 1 && in[4] == 5 && in[5] == before && in[6] == -1);
    }
    MPI_Request_free(&send);
    MPI_Request_free(&receive);
}

static void edges(void)
{
    int data[4] = {0}, flag, class;
    MPI_Request request, receive;
    MPI_Status status;
    MPI_Psend_init(data, 2, 2, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Precv_init(data, 2, 2, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &receive);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    CHECK(MPI_Pready(0, request) != MPI_SUCCESS); /* not started */
    MPI_Start(&request);
    MPI_Start(&receive);
    CHECK(MPI_Pready(2, request) != MPI_SUCCESS);
    CHECK(MPI_Pready(0, receive) != MPI_SUCCESS);
    CHECK(MPI_Parrived(request, 0, &flag) != MPI_SUCCESS);
    MPI_Pready(1, request);
    CHECK(MPI_Pready(1, request) != MPI_SUCCESS);
    MPI_Pready(0, request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Wait(&receive, &status);
    SAME(status.MPI_SOURCE, MPI_PROC_NULL);
    MPI_Request_free(&request);
    MPI_Request_free(&receive);
    MPI_Error_class(MPI_Psend_init(data, 0, 2, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &request), &class);
    SAME(class, MPI_ERR_ARG);
    CHECK(MPI_Precv_init(data, 1, 2, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &request) != MPI_SUCCESS);
    /* Set up and given up, on both sides. */
    MPI_Precv_init(data, 1, 2, MPI_INT, rank, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &receive);
    MPI_Request_free(&receive);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char **argv)
{
    MPI_Comm twin;
    begin(&argc, &argv);
    exchange(MPI_COMM_WORLD);
    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    exchange(twin);
    MPI_Comm_free(&twin);
    by_set_up();
    shorter();
    edges();
    return conclude();
}
