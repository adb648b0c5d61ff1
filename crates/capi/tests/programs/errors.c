/* Wrong arguments of every kind: the right class, and a sentence that names function, parameter, value and rank. */
#include "expect.h"

static int handled;
static MPI_Comm handled_comm;

static void handler(MPI_Comm *comm, int *code, ...) {
    int rank;
    handled = *code;
    handled_comm = *comm;
    MPI_Comm_rank(*comm, &rank); /* a handler may call MPI */
}

int main(int argc, char **argv) {
    long data = 0;
    int number;
    MPI_Request request;
    MPI_Status status;
    MPI_Group group, stale;
    MPI_Comm comm = (MPI_Comm) 0x12345678;
    MPI_Errhandler errhandler, again;

    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);

    EXPECT_ERROR(MPI_Send(&data, 1, MPI_LONG, 9, 0, MPI_COMM_WORLD), MPI_ERR_RANK, "MPI_Send", "rank 0", "dest is 9");
    EXPECT_ERROR(MPI_Send(&data, 1, MPI_LONG, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD), MPI_ERR_RANK, "dest is -1");
    EXPECT_ERROR(MPI_Send(&data, -3, MPI_LONG, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT, "count is -3");
    EXPECT_ERROR(MPI_Send_c(&data, -3, MPI_LONG, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT, "MPI_Send_c", "count is -3");
    EXPECT_ERROR(MPI_Send(&data, 1, MPI_LONG, 0, -7, MPI_COMM_WORLD), MPI_ERR_TAG, "tag is -7");
    EXPECT_ERROR(MPI_Send(NULL, 1, MPI_LONG, 0, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER, "buf is a null pointer");
    EXPECT_ERROR(MPI_Send(&data, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE, "datatype is MPI_DATATYPE_NULL");
    EXPECT_ERROR(MPI_Send(&data, 1, MPI_LONG, 0, 0, MPI_COMM_NULL), MPI_ERR_COMM, "comm is MPI_COMM_NULL");
    EXPECT_ERROR(MPI_Comm_rank(comm, &number), MPI_ERR_COMM, "comm is 0x12345678");
    EXPECT_ERROR(MPI_Comm_rank((MPI_Comm) MPI_INT, &number), MPI_ERR_COMM, "comm is 0x209");
    EXPECT_ERROR(MPI_Comm_rank(MPI_COMM_WORLD, NULL), MPI_ERR_ARG, "rank is a null pointer");
    EXPECT_ERROR(MPI_Bcast(&data, 1, MPI_LONG, 5, MPI_COMM_WORLD), MPI_ERR_ROOT, "root is 5");
    EXPECT_ERROR(MPI_Reduce_local(&data, &data, 1, MPI_LONG, MPI_OP_NULL), MPI_ERR_OP, "op is MPI_OP_NULL");
    EXPECT_ERROR(MPI_Group_size(MPI_GROUP_NULL, &number), MPI_ERR_GROUP, "group is MPI_GROUP_NULL");
    EXPECT_ERROR(MPI_Type_free(&(MPI_Datatype){MPI_INT}), MPI_ERR_TYPE, "MPI_INT", "predefined");
    EXPECT_ERROR(MPI_Comm_free(&(MPI_Comm){MPI_COMM_WORLD}), MPI_ERR_COMM, "MPI_COMM_WORLD", "predefined");
    EXPECT_ERROR(MPI_Info_set(MPI_INFO_NULL, "key", "value"), MPI_ERR_INFO, "MPI_INFO_NULL");
    EXPECT_ERROR(MPI_Comm_set_attr(MPI_COMM_WORLD, MPI_TAG_UB, NULL), MPI_ERR_KEYVAL, "predefined");
    EXPECT_ERROR(MPI_Comm_get_attr(MPI_COMM_WORLD, 77, &data, &number), MPI_ERR_KEYVAL, "keyval is 77");
    EXPECT_ERROR(MPI_Request_free(&(MPI_Request){MPI_REQUEST_NULL}), MPI_ERR_REQUEST, "MPI_REQUEST_NULL");
    EXPECT_ERROR(MPI_Win_fence(0, MPI_WIN_NULL), MPI_ERR_WIN, "win is MPI_WIN_NULL");
    EXPECT_ERROR(MPI_Close_port("nowhere"), MPI_ERR_PORT, "MPI_Close_port", "port_name is \"nowhere\"");

    /* A freed handle is told from the one that took its place. */
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    stale = group;
    MPI_Group_free(&group);
    EXPECT(group == MPI_GROUP_NULL);
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    EXPECT_ERROR(MPI_Group_size(stale, &number), MPI_ERR_GROUP, "not been freed");
    EXPECT(MPI_Group_size(group, &number) == MPI_SUCCESS && number == 1);
    MPI_Group_free(&group);

    /* A message that does not fit fails in the call that completes the receive. */
    MPI_Irecv(&data, 1, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &request);
    MPI_Send(&data, 1, MPI_LONG, 0, 1, MPI_COMM_WORLD);
    EXPECT_ERROR(MPI_Wait(&request, &status), MPI_ERR_TRUNCATE, "MPI_Wait", "8 bytes", "holds 1");
    EXPECT(request == MPI_REQUEST_NULL);
    MPI_Irecv(&data, 1, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &request);
    MPI_Send(&data, 1, MPI_LONG, 0, 1, MPI_COMM_WORLD);
    EXPECT(MPI_Waitall(1, &request, &status) == MPI_ERR_IN_STATUS && status.MPI_ERROR == MPI_ERR_TRUNCATE);

    /* A handler of the program is called with communicator and code, and lives as long as it is set. */
    MPI_Comm_create_errhandler(handler, &errhandler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, errhandler);
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &again);
    EXPECT(again == errhandler);
    MPI_Errhandler_free(&errhandler);
    MPI_Errhandler_free(&again);
    EXPECT(errhandler == MPI_ERRHANDLER_NULL);
    EXPECT(MPI_Send(&data, 1, MPI_LONG, 0, -7, MPI_COMM_WORLD) == MPI_ERR_TAG);
    EXPECT(handled == MPI_ERR_TAG && handled_comm == MPI_COMM_WORLD);
    MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_OTHER);
    EXPECT(handled == MPI_ERR_OTHER);

    MPI_Finalize();
    return failures;
}
