/* Errors inside of error handlers, and handlers that are left by longjmp. */
#include "check.h"

#include <setjmp.h>

static int calls;
static MPI_Comm comm;
static jmp_buf back;

/* Whatever it calls fails: by the third time at the latest a careless library is out of stack. */
static void careless(MPI_Comm *with, int *code, ...)
{
    int status;
    (void)code;
    calls++;
    MPI_Topo_test(*with, &status);
    MPI_Send(&status, -1, MPI_INT, 0, 0, *with);
}

static void leaps(MPI_Comm *with, int *code, ...)
{
    (void)with;
    (void)code;
    calls++;
    longjmp(back, 1);
}

int main(int argc, char **argv)
{
    MPI_Errhandler handler;
    begin(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_errhandler(careless, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Errhandler_free(&handler);
    CHECK(MPI_Send(NULL, -1, MPI_INT, 0, 0, comm) != MPI_SUCCESS);
    CHECK(calls >= 1 && calls < 1000);
    MPI_Comm_create_errhandler(leaps, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Errhandler_free(&handler);
    calls = 0;
    for (volatile int round = 0; round < 50; round++) {
        if (!setjmp(back)) {
            MPI_Send(NULL, -1, MPI_INT, 0, 0, comm);
            CHECK(!"the handler was called");
        }
    }
    SAME(calls, 50);
    MPI_Barrier(comm);
    MPI_Comm_free(&comm);
    return conclude();
}
