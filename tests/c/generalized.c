/* Generalized requests: a status that the program makes up, waits and tests of every kind, cancel, free before and after the end, errors. */
#include "check.h"

typedef struct {
    int queried, freed, cancelled, complete_when_cancelled, code;
    int count;
} work;

static int query(void *extra, MPI_Status *status)
{
    work *w = extra;
    w->queried++;
    MPI_Status_set_elements(status, MPI_INT, w->count);
    MPI_Status_set_cancelled(status, w->cancelled);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = 4711;
    return w->code;
}

static int release(void *extra)
{
    ((work *)extra)->freed++;
    return MPI_SUCCESS;
}

static int cancel(void *extra, int complete)
{
    work *w = extra;
    w->cancelled = 1;
    w->complete_when_cancelled = complete;
    return MPI_SUCCESS;
}

static void start(work *w, MPI_Request *request) { MPI_Grequest_start(query, release, cancel, w, request); }

static void expect(const MPI_Status *status, int count)
{
    int found, cancelled;
    MPI_Get_elements(status, MPI_INT, &found);
    SAME(found, count);
    MPI_Test_cancelled(status, &cancelled);
    SAME(cancelled, 0);
    SAME(status->MPI_SOURCE, MPI_UNDEFINED);
    SAME(status->MPI_TAG, 4711);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Request request, several[3];
    MPI_Status status, statuses[3];
    int flag, index, outcount, indices[3];

    work one = {.count = 3};
    start(&one, &request);
    MPI_Test(&request, &flag, &status);
    CHECK(!flag && one.queried == 0);
    MPI_Request_get_status(request, &flag, &status);
    CHECK(!flag && one.queried == 0);
    MPI_Grequest_complete(request);
    MPI_Request_get_status(request, &flag, &status);
    CHECK(flag && one.queried == 1 && one.freed == 0);
    expect(&status, 3);
    CHECK(MPI_Grequest_complete(request) != MPI_SUCCESS);
    MPI_Wait(&request, &status);
    expect(&status, 3);
    CHECK(request == MPI_REQUEST_NULL && one.queried == 2 && one.freed == 1);

    /* Among others, in every kind of call. */
    for (int kind = 0; kind < 6; kind++) {
        work some[2] = {{.count = 1}, {.count = 2}};
        int in = -1, out = rank, next = (rank + 1) % size, before = (rank + size - 1) % size;
        start(&some[0], &several[0]);
        MPI_Irecv(&in, 1, MPI_INT, before, 7, MPI_COMM_WORLD, &several[1]);
        start(&some[1], &several[2]);
        MPI_Send(&out, 1, MPI_INT, next, 7, MPI_COMM_WORLD);
        MPI_Grequest_complete(several[0]);
        MPI_Grequest_complete(several[2]);
        switch (kind) {
        case 0:
            MPI_Waitall(3, several, statuses);
            expect(&statuses[0], 1);
            expect(&statuses[2], 2);
            SAME(statuses[1].MPI_SOURCE, before);
            break;
        case 1:
            do MPI_Testall(3, several, &flag, statuses);
            while (!flag);
            expect(&statuses[2], 2);
            break;
        case 2:
            for (int i = 0; i < 3; i++) {
                MPI_Waitany(3, several, &index, &status);
                if (index != 1) expect(&status, index == 0 ? 1 : 2);
            }
            break;
        case 3:
            for (int done = 0; done < 3;) {
                MPI_Waitsome(3, several, &outcount, indices, statuses);
                for (int i = 0; i < outcount; i++)
                    if (indices[i] != 1) expect(&statuses[i], indices[i] == 0 ? 1 : 2);
                done += outcount;
            }
            break;
        case 4:
            for (int done = 0; done < 3; done += flag) MPI_Testany(3, several, &index, &flag, &status);
            break;
        default:
            MPI_Waitall(3, several, MPI_STATUSES_IGNORE);
        }
        for (int i = 0; i < 3; i++) CHECK(several[i] == MPI_REQUEST_NULL);
        for (int i = 0; i < 2; i++) CHECK(some[i].queried == 1 && some[i].freed == 1);
        SAME(in, before);
    }

    work given_up = {0};
    start(&given_up, &request);
    MPI_Request copy = request;
    MPI_Request_free(&request);
    CHECK(request == MPI_REQUEST_NULL && given_up.freed == 0);
    MPI_Grequest_complete(copy);
    CHECK(given_up.freed == 1 && given_up.queried == 0);

    work called_off = {0};
    start(&called_off, &request);
    MPI_Cancel(&request);
    CHECK(called_off.cancelled == 1 && called_off.complete_when_cancelled == 0);
    MPI_Grequest_complete(request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag);

    work failing = {.code = MPI_ERR_INTERN};
    int class;
    start(&failing, &request);
    MPI_Grequest_complete(request);
    MPI_Error_class(MPI_Wait(&request, &status), &class);
    SAME(class, MPI_ERR_INTERN);
    CHECK(failing.freed == 1);
    MPI_Isend(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
    CHECK(MPI_Grequest_complete(request) != MPI_SUCCESS);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return conclude();
}
