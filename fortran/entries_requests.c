/* Completing requests: handles in arrays, indices that count from 1, and sections of arrays that come home. */
#include "corelace_fortran.h"

#define FEW 32
/* The requests of an array, as C has them: in the caller's frame if they are few. */
#define REQUESTS(count)                                                                                     \
    MPI_Request few[FEW];                                                                                   \
    MPI_Request *c_requests = (count) > FEW ? corelace_room((size_t)(count), sizeof *c_requests) : few;     \
    for (int i = 0; i < (count); i++) c_requests[i] = request_in(requests[i])
#define DONE_WITH_REQUESTS do { if (c_requests != few) free(c_requests); } while (0)

/* A request after a call that may have completed it. */
static void settle(int *request, MPI_Request now, int is_complete)
{
    int before = *request;
    *request = request_out(now);
    if (corelace_kept && is_complete) corelace_land(KEPT_BY_REQUEST, before, -1, now == MPI_REQUEST_NULL);
}

REPLACEABLE void ENTRY(wait)(int *request, int *state, int *ierror)
{
    MPI_Request c_request = request_in(*request);
    int code = CALL(Wait)(&c_request, status(state));
    settle(request, c_request, 1);
    ANSWER(code);
}
ALSO(ENTRY_F08(wait), ENTRY(wait));

REPLACEABLE void ENTRY(test)(int *request, int *flag, int *state, int *ierror)
{
    MPI_Request c_request = request_in(*request);
    int code = CALL(Test)(&c_request, flag, status(state));
    settle(request, c_request, code != MPI_SUCCESS || *flag);
    ANSWER(code);
}
ALSO(ENTRY_F08(test), ENTRY(test));

REPLACEABLE void ENTRY(waitall)(int *count, int *requests, int *states, int *ierror)
{
    REQUESTS(*count);
    int code = CALL(Waitall)(*count, c_requests, statuses(states));
    for (int i = 0; i < *count; i++) settle(&requests[i], c_requests[i], code == MPI_SUCCESS || c_requests[i] == MPI_REQUEST_NULL);
    DONE_WITH_REQUESTS;
    ANSWER(code);
}
ALSO(ENTRY_F08(waitall), ENTRY(waitall));

REPLACEABLE void ENTRY(testall)(int *count, int *requests, int *flag, int *states, int *ierror)
{
    REQUESTS(*count);
    int code = CALL(Testall)(*count, c_requests, flag, statuses(states));
    for (int i = 0; i < *count; i++) {
        settle(&requests[i], c_requests[i], (code == MPI_SUCCESS && *flag) || c_requests[i] == MPI_REQUEST_NULL);
    }
    DONE_WITH_REQUESTS;
    ANSWER(code);
}
ALSO(ENTRY_F08(testall), ENTRY(testall));

REPLACEABLE void ENTRY(waitany)(int *count, int *requests, int *found, int *state, int *ierror)
{
    REQUESTS(*count);
    int at = MPI_UNDEFINED, code = CALL(Waitany)(*count, c_requests, &at, status(state));
    if (at >= 0 && at < *count) settle(&requests[at], c_requests[at], 1);
    *found = index_out(at);
    DONE_WITH_REQUESTS;
    ANSWER(code);
}
ALSO(ENTRY_F08(waitany), ENTRY(waitany));

REPLACEABLE void ENTRY(testany)(int *count, int *requests, int *found, int *flag, int *state, int *ierror)
{
    REQUESTS(*count);
    int at = MPI_UNDEFINED, code = CALL(Testany)(*count, c_requests, &at, flag, status(state));
    if (at >= 0 && at < *count) settle(&requests[at], c_requests[at], 1);
    *found = index_out(at);
    DONE_WITH_REQUESTS;
    ANSWER(code);
}
ALSO(ENTRY_F08(testany), ENTRY(testany));

#define SOME(name, Name)                                                                                                       \
    REPLACEABLE void ENTRY(name)(int *incount, int *requests, int *outcount, int *indices, int *states, int *ierror)           \
    {                                                                                                                          \
        REQUESTS(*incount);                                                                                                    \
        *outcount = 0;                                                                                                         \
        int code = CALL(Name)(*incount, c_requests, outcount, indices, statuses(states));                                      \
        for (int i = 0; i < *outcount; i++) {                                                                                  \
            int at = indices[i];                                                                                               \
            indices[i] = index_out(at);                                                                                        \
            settle(&requests[at], c_requests[at], 1);                                                                          \
        }                                                                                                                      \
        DONE_WITH_REQUESTS;                                                                                                    \
        ANSWER(code);                                                                                                          \
    }                                                                                                                          \
    ALSO(ENTRY_F08(name), ENTRY(name));
SOME(waitsome, Waitsome)
SOME(testsome, Testsome)

/* Looking without completing: what has arrived is in place already. */
static void looked_at(int request) { if (corelace_kept) corelace_land(KEPT_BY_REQUEST, request, -1, 0); }

REPLACEABLE void ENTRY(request_get_status)(int *request, int *flag, int *state, int *ierror)
{
    int code = CALL(Request_get_status)(request_in(*request), flag, status(state));
    if (code == MPI_SUCCESS && *flag) looked_at(*request);
    ANSWER(code);
}
ALSO(ENTRY_F08(request_get_status), ENTRY(request_get_status));

REPLACEABLE void ENTRY(request_get_status_all)(int *count, int *requests, int *flag, int *states, int *ierror)
{
    REQUESTS(*count);
    int code = CALL(Request_get_status_all)(*count, c_requests, flag, statuses(states));
    for (int i = 0; code == MPI_SUCCESS && *flag && i < *count; i++) looked_at(requests[i]);
    DONE_WITH_REQUESTS;
    ANSWER(code);
}
ALSO(ENTRY_F08(request_get_status_all), ENTRY(request_get_status_all));

REPLACEABLE void ENTRY(request_get_status_any)(int *count, int *requests, int *found, int *flag, int *state, int *ierror)
{
    REQUESTS(*count);
    int at = MPI_UNDEFINED, code = CALL(Request_get_status_any)(*count, c_requests, &at, flag, status(state));
    if (at >= 0 && at < *count) looked_at(requests[at]);
    *found = index_out(at);
    DONE_WITH_REQUESTS;
    ANSWER(code);
}
ALSO(ENTRY_F08(request_get_status_any), ENTRY(request_get_status_any));

REPLACEABLE void ENTRY(request_get_status_some)(int *incount, int *requests, int *outcount, int *indices, int *states, int *ierror)
{
    REQUESTS(*incount);
    *outcount = 0;
    int code = CALL(Request_get_status_some)(*incount, c_requests, outcount, indices, statuses(states));
    for (int i = 0; i < *outcount; i++) {
        looked_at(requests[indices[i]]);
        indices[i] = index_out(indices[i]);
    }
    DONE_WITH_REQUESTS;
    ANSWER(code);
}
ALSO(ENTRY_F08(request_get_status_some), ENTRY(request_get_status_some));

/* A request that is given up: what it still sends stays in its copy. */
REPLACEABLE void ENTRY(request_free)(int *request, int *ierror)
{
    MPI_Request c_request = request_in(*request);
    int code = CALL(Request_free)(&c_request);
    *request = request_out(c_request);
    ANSWER(code);
}
ALSO(ENTRY_F08(request_free), ENTRY(request_free));

static void depart(int request) { if (corelace_kept) corelace_depart(request); }

REPLACEABLE void ENTRY(start)(int *request, int *ierror)
{
    MPI_Request c_request = request_in(*request);
    depart(*request);
    int code = CALL(Start)(&c_request);
    ANSWER(code);
}
ALSO(ENTRY_F08(start), ENTRY(start));

REPLACEABLE void ENTRY(startall)(int *count, int *requests, int *ierror)
{
    REQUESTS(*count);
    for (int i = 0; i < *count; i++) depart(requests[i]);
    int code = CALL(Startall)(*count, c_requests);
    DONE_WITH_REQUESTS;
    ANSWER(code);
}
ALSO(ENTRY_F08(startall), ENTRY(startall));

REPLACEABLE void ENTRY(pready)(int *partition, int *request, int *ierror)
{
    depart(*request);
    int code = CALL(Pready)(*partition, request_in(*request));
    ANSWER(code);
}
ALSO(ENTRY_F08(pready), ENTRY(pready));

REPLACEABLE void ENTRY(pready_range)(int *first, int *last, int *request, int *ierror)
{
    depart(*request);
    int code = CALL(Pready_range)(*first, *last, request_in(*request));
    ANSWER(code);
}
ALSO(ENTRY_F08(pready_range), ENTRY(pready_range));

REPLACEABLE void ENTRY(pready_list)(int *length, int *partitions, int *request, int *ierror)
{
    depart(*request);
    int code = CALL(Pready_list)(*length, partitions, request_in(*request));
    ANSWER(code);
}
ALSO(ENTRY_F08(pready_list), ENTRY(pready_list));

REPLACEABLE void ENTRY(parrived)(int *request, int *partition, int *flag, int *ierror)
{
    int code = CALL(Parrived)(request_in(*request), *partition, flag);
    if (code == MPI_SUCCESS && *flag) looked_at(*request);
    ANSWER(code);
}
ALSO(ENTRY_F08(parrived), ENTRY(parrived));

/* Calls that complete what this process has begun in a window, at one target or at all. */
#define COMPLETES(name, Name, parameters, arguments, target)                                            \
    REPLACEABLE void ENTRY(name) parameters                                                             \
    {                                                                                                   \
        int code = CALL(Name) arguments;                                                                \
        if (corelace_kept && code == MPI_SUCCESS) corelace_land(KEPT_BY_WINDOW, *win, target, 1);       \
        ANSWER(code);                                                                                   \
    }                                                                                                   \
    ALSO(ENTRY_F08(name), ENTRY(name));
COMPLETES(win_fence, Win_fence, (int *assert, int *win, int *ierror), (*assert, win_in(*win)), -1)
COMPLETES(win_complete, Win_complete, (int *win, int *ierror), (win_in(*win)), -1)
COMPLETES(win_unlock, Win_unlock, (int *rank, int *win, int *ierror), (*rank, win_in(*win)), *rank)
COMPLETES(win_unlock_all, Win_unlock_all, (int *win, int *ierror), (win_in(*win)), -1)
COMPLETES(win_flush, Win_flush, (int *rank, int *win, int *ierror), (*rank, win_in(*win)), *rank)
COMPLETES(win_flush_all, Win_flush_all, (int *win, int *ierror), (win_in(*win)), -1)
COMPLETES(win_flush_local, Win_flush_local, (int *rank, int *win, int *ierror), (*rank, win_in(*win)), *rank)
COMPLETES(win_flush_local_all, Win_flush_local_all, (int *win, int *ierror), (win_in(*win)), -1)
