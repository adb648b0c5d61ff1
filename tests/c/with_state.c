/* Operations and error handlers with a state of the program's (corelace.h): the function gets it, and the destructor once nobody can call the function any more. */
#include "check.h"

#include <corelace.h>

struct state {
    int calls, destroyed, code;
    MPI_Count elements;
};

static void destroy(void *extra_state) { ((struct state *)extra_state)->destroyed++; }

static void add(void *in, void *inout, MPI_Count count, MPI_Datatype datatype, void *extra_state)
{
    struct state *state = extra_state;
    state->calls++;
    state->elements += count;
    if (datatype != MPI_INT) state->code = -1;
    for (MPI_Count i = 0; i < count; i++) ((int *)inout)[i] += ((int *)in)[i];
}

static void comm_failed(MPI_Comm comm, int code, void *extra_state)
{
    struct state *state = extra_state;
    if (comm == MPI_COMM_WORLD) state->calls++;
    state->code = code;
}

static void win_failed(MPI_Win win, int code, void *extra_state)
{
    struct state *state = extra_state;
    if (win != MPI_WIN_NULL) state->calls++;
    state->code = code;
}

static void session_failed(MPI_Session session, int code, void *extra_state)
{
    struct state *state = extra_state;
    if (session != MPI_SESSION_NULL) state->calls++;
    state->code = code;
}

static void file_failed(MPI_File file, int code, void *extra_state)
{
    struct state *state = extra_state;
    if (file == MPI_FILE_NULL) state->calls++;
    state->code = code;
}

static void operations(void)
{
    struct state state = {0};
    int values[3] = {rank, 1, -rank}, sums[3], inputs[2] = {3, 4}, outputs[2] = {10, 20};
    MPI_Op op;
    CHECK(MPIX_Op_create_x(add, destroy, 1, &state, &op) == MPI_SUCCESS);
    MPI_Allreduce(values, sums, 3, MPI_INT, op, MPI_COMM_WORLD);
    CHECK(sums[0] == size * (size - 1) / 2 && sums[1] == size && sums[2] == -sums[0]);
    MPI_Reduce_local(inputs, outputs, 2, MPI_INT, op);
    CHECK(outputs[0] == 13 && outputs[1] == 24 && state.elements >= 2 && state.calls >= 1 && state.code == 0);
    CHECK(!state.destroyed);
    MPI_Op_free(&op);
    CHECK(state.destroyed == 1);
}

static void handlers(void)
{
    struct state of_comm = {0}, of_win = {0}, of_session = {0}, of_file = {0};
    MPI_Errhandler errhandler;
    MPI_Session session;
    MPI_Win win;
    int memory;
    MPIX_Comm_create_errhandler_x(comm_failed, destroy, &of_comm, &errhandler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, errhandler);
    MPI_Errhandler_free(&errhandler);
    MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_OTHER);
    CHECK(of_comm.calls == 1 && of_comm.code == MPI_ERR_OTHER && !of_comm.destroyed);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    CHECK(of_comm.destroyed == 1);

    MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPIX_Win_create_errhandler_x(win_failed, NULL, &of_win, &errhandler);
    MPI_Win_set_errhandler(win, errhandler);
    MPI_Errhandler_free(&errhandler);
    MPI_Win_call_errhandler(win, MPI_ERR_RANK);
    CHECK(of_win.calls == 1 && of_win.code == MPI_ERR_RANK);
    MPI_Win_free(&win);

    MPIX_Session_create_errhandler_x(session_failed, destroy, &of_session, &errhandler);
    MPI_Session_init(MPI_INFO_NULL, errhandler, &session);
    MPI_Errhandler_free(&errhandler);
    MPI_Session_call_errhandler(session, MPI_ERR_ARG);
    CHECK(of_session.calls == 1 && of_session.code == MPI_ERR_ARG);
    MPI_Session_finalize(&session);
    CHECK(of_session.destroyed == 1);

    MPIX_File_create_errhandler_x(file_failed, NULL, &of_file, &errhandler);
    MPI_File_set_errhandler(MPI_FILE_NULL, errhandler);
    MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_ARG);
    CHECK(of_file.calls == 1 && of_file.code == MPI_ERR_ARG);
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&errhandler);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    operations();
    handlers();
    return conclude();
}
