/* What statuses hold of requests that are null, inactive, failed, and whose handler is called when one fails. */
#include "check.h"

static const int STALE = 77;
static MPI_Comm comm; /* of its own, with a handler that returns */

static MPI_Status stale(void)
{
    MPI_Status status;
    memset(&status, 0x5a, sizeof status);
    status.MPI_ERROR = STALE;
    return status;
}

/* Section 3.7.3: source and tag are wildcards, the error is MPI_SUCCESS, the count is 0, not cancelled. */
static void expect_empty(const MPI_Status *status)
{
    int count = -1, cancelled = -1;
    SAME(status->MPI_SOURCE, MPI_ANY_SOURCE);
    SAME(status->MPI_TAG, MPI_ANY_TAG);
    SAME(status->MPI_ERROR, MPI_SUCCESS);
    MPI_Get_count(status, MPI_INT, &count);
    SAME(count, 0);
    MPI_Test_cancelled(status, &cancelled);
    SAME(cancelled, 0);
}

static void null_and_inactive_requests(void)
{
    int data = 0, flag, index, count, indices[2];
    MPI_Request inactive, all[2];
    MPI_Recv_init(&data, 1, MPI_INT, MPI_ANY_SOURCE, 1, comm, &inactive);
    for (int kind = 0; kind < 2; kind++) {
        MPI_Request one = kind ? inactive : MPI_REQUEST_NULL;
        MPI_Status status = stale(), both[2] = {stale(), stale()};
        MPI_Wait(&one, &status);
        expect_empty(&status);
        status = stale();
        MPI_Test(&one, &flag, &status);
        CHECK(flag);
        expect_empty(&status);
        status = stale();
        MPI_Request_get_status(one, &flag, &status);
        CHECK(flag);
        expect_empty(&status);
        all[0] = MPI_REQUEST_NULL;
        all[1] = one;
        MPI_Waitall(2, all, both);
        for (int i = 0; i < 2; i++) expect_empty(&both[i]);
        both[0] = both[1] = stale();
        MPI_Testall(2, all, &flag, both);
        for (int i = 0; i < 2; i++) expect_empty(&both[i]);
        both[0] = both[1] = stale();
        MPI_Request_get_status_all(2, all, &flag, both);
        CHECK(flag);
        for (int i = 0; i < 2; i++) expect_empty(&both[i]);
        status = stale();
        MPI_Waitany(2, all, &index, &status);
        SAME(index, MPI_UNDEFINED);
        expect_empty(&status);
        status = stale();
        MPI_Testany(2, all, &index, &flag, &status);
        CHECK(flag && index == MPI_UNDEFINED);
        expect_empty(&status);
        status = stale();
        MPI_Request_get_status_any(2, all, &index, &flag, &status);
        CHECK(flag && index == MPI_UNDEFINED);
        expect_empty(&status);
        MPI_Waitsome(2, all, &count, indices, both);
        SAME(count, MPI_UNDEFINED);
        MPI_Testsome(2, all, &count, indices, both);
        SAME(count, MPI_UNDEFINED);
        MPI_Request_get_status_some(2, all, &count, indices, both);
        SAME(count, MPI_UNDEFINED);
    }
    MPI_Request_free(&inactive);
}

/* A completed operation leaves the error field alone unless the call returns MPI_ERR_IN_STATUS (section 3.2.5). */
static void completed_operations(void)
{
    int in = 0, out = rank, flag;
    MPI_Status status = stale();
    MPI_Request request;
    MPI_Irecv(&in, 1, MPI_INT, rank, 3, comm, &request);
    MPI_Send(&out, 1, MPI_INT, rank, 3, comm);
    MPI_Wait(&request, &status);
    SAME(status.MPI_ERROR, STALE);
    SAME(status.MPI_SOURCE, rank);
    MPI_Recv_init(&in, 1, MPI_INT, rank, 4, comm, &request);
    MPI_Start(&request);
    MPI_Send(&out, 1, MPI_INT, rank, 4, comm);
    for (flag = 0; !flag;) MPI_Request_get_status(request, &flag, &status);
    SAME(status.MPI_TAG, 4);
    SAME(status.MPI_ERROR, STALE);
    MPI_Wait(&request, &status);
    SAME(status.MPI_ERROR, STALE);
    MPI_Request_free(&request);
}

/* One message that fits, one that is too long: the status says which was which, and where it came from. */
static void truncated_receives(void)
{
    enum { WAITALL, WAITSOME, TESTALL, TESTSOME, WAYS };
    for (int way = 0; way < WAYS; way++) {
        int in[2][2] = {{0}}, out[4] = {1, 2, 3, 4}, code = MPI_SUCCESS, flag = 0, done = 0, indices[2];
        MPI_Request requests[2];
        MPI_Status statuses[2] = {stale(), stale()};
        MPI_Irecv(in[0], 2, MPI_INT, MPI_ANY_SOURCE, 10, comm, &requests[0]);
        MPI_Irecv(in[1], 2, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &requests[1]);
        MPI_Send(out, 2, MPI_INT, rank, 10, comm);
        MPI_Send(out, 4, MPI_INT, rank, 11, comm);
        while (done < 2) {
            int some = 0;
            MPI_Status fresh[2] = {stale(), stale()};
            if (way == WAITALL || way == TESTALL) {
                code = way == WAITALL ? MPI_Waitall(2, requests, statuses) : MPI_Testall(2, requests, &flag, statuses);
                done = way == WAITALL || flag ? 2 : 0;
            } else {
                code = way == WAITSOME ? MPI_Waitsome(2, requests, &some, indices, fresh)
                                       : MPI_Testsome(2, requests, &some, indices, fresh);
                for (int i = 0; i < some; i++) {
                    statuses[indices[i]] = fresh[i];
                    if (indices[i] == 1) SAME(code, MPI_ERR_IN_STATUS);
                    if (code == MPI_SUCCESS) statuses[indices[i]].MPI_ERROR = MPI_SUCCESS;
                }
                done += some;
            }
        }
        if (way == WAITALL || way == TESTALL) SAME(code, MPI_ERR_IN_STATUS);
        for (int i = 0; i < 2; i++) {
            CHECK(requests[i] == MPI_REQUEST_NULL);
            SAME(statuses[i].MPI_SOURCE, rank);
            SAME(statuses[i].MPI_TAG, 10 + i);
        }
        SAME(statuses[0].MPI_ERROR, MPI_SUCCESS);
        int class = 0;
        MPI_Error_class(statuses[1].MPI_ERROR, &class);
        SAME(class, MPI_ERR_TRUNCATE);
    }
}

static int called;
static MPI_Comm called_with;
static void note(MPI_Comm *with, int *code, ...)
{
    called += *code != MPI_SUCCESS;
    called_with = *with;
}

/* The handler is the one that the communicator has when the error is found, not when the operation started. */
static void the_handler_of_the_moment(void)
{
    int in, again, out[2] = {1, 2}, flag = 0;
    MPI_Comm own;
    MPI_Errhandler handler;
    MPI_Request request, persistent;
    MPI_Message message;
    MPI_Status status;
    MPI_Comm_create_errhandler(note, &handler);
    MPI_Comm_dup(MPI_COMM_WORLD, &own); /* fatal, as MPI_COMM_WORLD */
    MPI_Irecv(&in, 1, MPI_INT, rank, 5, own, &request);
    MPI_Recv_init(&again, 1, MPI_INT, rank, 6, own, &persistent);
    MPI_Start(&persistent);
    MPI_Comm_set_errhandler(own, handler);
    MPI_Send(out, 2, MPI_INT, rank, 5, own);
    MPI_Send(out, 2, MPI_INT, rank, 6, own);
    CHECK(MPI_Wait(&request, &status) != MPI_SUCCESS);
    SAME(called, 1);
    CHECK(called_with == own);
    SAME(status.MPI_TAG, 5);
    CHECK(MPI_Wait(&persistent, MPI_STATUS_IGNORE) != MPI_SUCCESS);
    SAME(called, 2);
    CHECK(persistent != MPI_REQUEST_NULL);
    CHECK(called_with == own);

    /* Errors of matched receives belong to the communicator of the probe. */
    for (int round = 0; round < 4; round++) {
        int before = called, code;
        MPI_Send(out, 2, MPI_INT, rank, 7, own);
        if (round % 2) MPI_Mprobe(rank, 7, own, &message, MPI_STATUS_IGNORE);
        else
            for (flag = 0; !flag;) MPI_Improbe(rank, 7, own, &flag, &message, MPI_STATUS_IGNORE);
        called_with = MPI_COMM_NULL;
        if (round < 2) code = MPI_Mrecv(&in, 1, MPI_INT, &message, &status);
        else {
            MPI_Imrecv(&in, 1, MPI_INT, &message, &request);
            code = MPI_Wait(&request, &status);
        }
        CHECK(code != MPI_SUCCESS && message == MPI_MESSAGE_NULL);
        SAME(called, before + 1);
        CHECK(called_with == own);
        SAME(status.MPI_TAG, 7);
    }
    int before = called;
    MPI_Send(out, 1, MPI_INT, rank, 8, own);
    MPI_Mprobe(rank, 8, own, &message, MPI_STATUS_IGNORE);
    CHECK(MPI_Mrecv(&in, -1, MPI_INT, &message, &status) != MPI_SUCCESS);
    SAME(called, before + 1);
    MPI_Mrecv(&in, 1, MPI_INT, &message, &status);
    SAME(in, 1);
    /* An active request cannot be started again: that is its communicator's affair, too. */
    MPI_Start(&persistent);
    CHECK(MPI_Start(&persistent) != MPI_SUCCESS);
    SAME(called, before + 2);
    MPI_Cancel(&persistent);
    MPI_Wait(&persistent, &status);
    MPI_Request_free(&persistent);
    MPI_Errhandler_free(&handler);
    MPI_Comm_free(&own);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    null_and_inactive_requests();
    completed_operations();
    truncated_receives();
    the_handler_of_the_moment();
    MPI_Comm_free(&comm);
    return conclude();
}
