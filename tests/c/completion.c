/* Waiting for and testing one, any, some and all of several requests; looking without completing; cancelling. */
#include "check.h"

enum { SLOTS = 12 };
static int in[SLOTS];
static MPI_Request requests[SLOTS];
static MPI_Status statuses[SLOTS];

/* Rank 0 has receives posted; rank 1 sends one at a time, in this order, when told to. */
static int permuted(int i) { return (i * 5 + 3) % SLOTS; }

static void post(void)
{
    for (int i = 0; i < SLOTS; i++) {
        in[i] = -1;
        MPI_Irecv(&in[i], 1, MPI_INT, 1, i, MPI_COMM_WORLD, &requests[i]);
    }
}

static void next_please(void) { MPI_Send(NULL, 0, MPI_INT, 1, 100, MPI_COMM_WORLD); }

static void serve(void)
{
    for (int i = 0; i < SLOTS; i++) {
        int which = permuted(i);
        MPI_Recv(NULL, 0, MPI_INT, 0, 100, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&which, 1, MPI_INT, 0, which, MPI_COMM_WORLD);
    }
}

static void one_after_the_other(int call)
{
    int index, flag, outcount, indices[SLOTS];
    post();
    MPI_Testany(SLOTS, requests, &index, &flag, MPI_STATUS_IGNORE);
    CHECK(!flag && index == MPI_UNDEFINED);
    MPI_Testall(SLOTS, requests, &flag, MPI_STATUSES_IGNORE);
    CHECK(!flag);
    MPI_Testsome(SLOTS, requests, &outcount, indices, statuses);
    SAME(outcount, 0);
    for (int i = 0; i < SLOTS; i++) {
        int expected = permuted(i);
        MPI_Status status;
        next_please();
        outcount = flag = 0;
        switch (call) {
        case 0: MPI_Waitany(SLOTS, requests, &index, &status); break;
        case 1:
            while (!flag) MPI_Testany(SLOTS, requests, &index, &flag, &status);
            break;
        case 2:
            MPI_Waitsome(SLOTS, requests, &outcount, indices, statuses);
            SAME(outcount, 1);
            index = indices[0];
            status = statuses[0];
            break;
        case 3:
            while (!outcount) MPI_Testsome(SLOTS, requests, &outcount, indices, statuses);
            SAME(outcount, 1);
            index = indices[0];
            status = statuses[0];
            break;
        case 4:
            while (!flag) MPI_Request_get_status(requests[expected], &flag, &status);
            CHECK(requests[expected] != MPI_REQUEST_NULL);
            index = expected;
            MPI_Wait(&requests[expected], &status);
            break;
        }
        SAME(index, expected);
        SAME(status.MPI_TAG, expected);
        SAME(in[expected], expected);
        CHECK(requests[expected] == MPI_REQUEST_NULL);
    }
    MPI_Waitany(SLOTS, requests, &index, MPI_STATUS_IGNORE); /* nothing left */
    SAME(index, MPI_UNDEFINED);
    MPI_Testany(SLOTS, requests, &index, &flag, MPI_STATUS_IGNORE);
    CHECK(flag && index == MPI_UNDEFINED);
    MPI_Waitsome(SLOTS, requests, &outcount, indices, statuses);
    SAME(outcount, MPI_UNDEFINED);
}

static void all_at_once(void)
{
    int flag = 0;
    post();
    for (int i = 0; i < SLOTS; i++) next_please();
    while (!flag) MPI_Testall(SLOTS, requests, &flag, statuses);
    for (int i = 0; i < SLOTS; i++) {
        SAME(in[i], i);
        SAME(statuses[i].MPI_TAG, i);
        CHECK(requests[i] == MPI_REQUEST_NULL);
    }
}

static void cancel(void)
{
    MPI_Request request;
    MPI_Status status;
    int number = 5, flag;
    MPI_Irecv(&number, 1, MPI_INT, MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag);
    /* The cancelled receive takes no message. */
    int mine = rank;
    MPI_Irecv(&number, 1, MPI_INT, rank, 77, MPI_COMM_WORLD, &request);
    MPI_Send(&mine, 1, MPI_INT, rank, 77, MPI_COMM_WORLD);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(!flag);
    SAME(number, rank);
}

/* A request that was freed still does its work. */
static void freed(void)
{
    static int sent = 4711;
    int number = 0;
    MPI_Request request;
    if (rank == 0) {
        MPI_Isend(&sent, 1, MPI_INT, 1, 55, MPI_COMM_WORLD, &request);
        MPI_Request_free(&request);
        CHECK(request == MPI_REQUEST_NULL);
    } else if (rank == 1) {
        MPI_Recv(&number, 1, MPI_INT, 0, 55, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        SAME(number, 4711);
    }
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    for (int call = 0; call < 5; call++) {
        if (rank == 0) one_after_the_other(call);
        if (rank == 1) serve();
    }
    if (rank == 0) all_at_once();
    if (rank == 1) serve();
    cancel();
    freed();
    MPI_Request null = MPI_REQUEST_NULL;
    MPI_Status empty;
    MPI_Wait(&null, &empty);
    SAME(empty.MPI_SOURCE, MPI_ANY_SOURCE);
    SAME(empty.MPI_TAG, MPI_ANY_TAG);
    return conclude();
}
