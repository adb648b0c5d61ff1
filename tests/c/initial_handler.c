/* The error handler that a process begins with: initial_handler WHICH, which is "return" or "abort" and what was asked of mpirun. */
#include "check.h"
#include <string.h>

int main(int argc, char **argv)
{
    MPI_Errhandler found, expected = strcmp(argv[1], "abort") ? MPI_ERRORS_RETURN : MPI_ERRORS_ABORT;
    int class, data = 0;
    if (expected == MPI_ERRORS_RETURN) {
        /* Before MPI_Init, a call that needs it fails and returns. */
        CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &class) != MPI_SUCCESS);
    }
    begin(&argc, &argv);
    MPI_Comm of[2] = {MPI_COMM_WORLD, MPI_COMM_SELF};
    for (int i = 0; i < 2; i++) {
        MPI_Comm copy;
        MPI_Comm_get_errhandler(of[i], &found);
        CHECK(found == expected);
        MPI_Comm_dup(of[i], &copy);
        MPI_Comm_get_errhandler(copy, &found);
        CHECK(found == expected);
        MPI_Comm_free(&copy);
    }
    int code = MPI_Send(&data, 1, MPI_INT, size + 7, 0, MPI_COMM_WORLD);
    MPI_Error_class(code, &class);
    SAME(class, MPI_ERR_RANK);
    /* A call without an object. */
    code = MPI_Type_contiguous(-1, MPI_INT, &(MPI_Datatype){0});
    CHECK(code != MPI_SUCCESS);
    return conclude();
}
