/* Error handlers: the program's own, the two predefined ones, inherited by copies, each communicator with its own. */
#include "check.h"

static int called, code_seen;
static MPI_Comm comm_seen;

static void remember(MPI_Comm *comm, int *code, ...)
{
    int r;
    called++;
    code_seen = *code;
    comm_seen = *comm;
    MPI_Comm_rank(*comm, &r); /* a handler may call MPI */
    SAME(r, *comm == MPI_COMM_SELF ? 0 : rank);
}

int main(int argc, char **argv)
{
    MPI_Errhandler mine, found;
    MPI_Comm own, copy;
    int class, data = 0, code;
    begin(&argc, &argv);
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &found);
    CHECK(found == MPI_ERRORS_ARE_FATAL);
    MPI_Comm_dup(MPI_COMM_WORLD, &own);
    MPI_Comm_create_errhandler(remember, &mine);
    MPI_Comm_set_errhandler(own, mine);
    MPI_Errhandler_free(&mine); /* it lives as long as it is set */
    CHECK(mine == MPI_ERRHANDLER_NULL);

    code = MPI_Send(&data, 1, MPI_INT, size, 0, own);
    MPI_Error_class(code, &class);
    SAME(class, MPI_ERR_RANK);
    SAME(called, 1);
    SAME(code_seen, code);
    CHECK(comm_seen == own);

    MPI_Comm_dup(own, &copy); /* inherits the handler */
    code = MPI_Bcast(&data, -1, MPI_INT, 0, copy);
    MPI_Error_class(code, &class);
    SAME(class, MPI_ERR_COUNT);
    SAME(called, 2);
    CHECK(comm_seen == copy);
    MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
    code = MPI_Send(&data, 1, MPI_INT, 0, -3, copy);
    MPI_Error_class(code, &class);
    SAME(class, MPI_ERR_TAG);
    SAME(called, 2); /* not by this one */
    MPI_Comm_call_errhandler(own, MPI_ERR_OTHER);
    SAME(called, 3);
    SAME(code_seen, MPI_ERR_OTHER);

    /* A receive that fails later fails in the call that completes it, on its communicator. */
    MPI_Request request;
    long big = 1;
    MPI_Irecv(&data, 1, MPI_INT, rank, 8, own, &request);
    MPI_Send(&big, 1, MPI_LONG, rank, 8, own);
    code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Error_class(code, &class);
    SAME(class, MPI_ERR_TRUNCATE);
    SAME(called, 4);
    CHECK(comm_seen == own);

    /* Classes and codes of the program. */
    int new_class, new_code, length;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Add_error_class(&new_class);
    MPI_Add_error_code(new_class, &new_code);
    MPI_Add_error_string(new_code, "the printer is out of paper");
    CHECK(new_class > MPI_ERR_LASTCODE);
    MPI_Error_class(new_code, &class);
    SAME(class, new_class);
    MPI_Error_string(new_code, text, &length);
    CHECK(!strcmp(text, "the printer is out of paper"));
    MPI_Comm_call_errhandler(own, new_code);
    SAME(code_seen, new_code);

    /* What belongs to no communicator goes to that of MPI_COMM_SELF, or to MPI_COMM_WORLD's if that alone was chosen. */
    MPI_Datatype type = MPI_DATATYPE_NULL;
    int dims[2] = {size + 1, 2}, periods[2] = {0, 0}, calls;
    MPI_Comm grid = own;
    MPI_Comm_create_errhandler(remember, &mine);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, mine);
    calls = called;
    MPI_Type_contiguous(-1, MPI_INT, &type);
    SAME(called, calls + 1);
    CHECK(comm_seen == MPI_COMM_WORLD);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, mine);
    MPI_Type_contiguous(-1, MPI_INT, &type);
    SAME(called, calls + 2);
    CHECK(comm_seen == MPI_COMM_SELF);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
    SAME(called, calls + 3);
    CHECK(grid == MPI_COMM_NULL); /* a call that fails leaves no handle that looks like one */
    MPI_Errhandler_free(&mine);

    MPI_Comm_free(&copy);
    MPI_Comm_free(&own);
    return conclude();
}
