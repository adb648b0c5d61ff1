// Memory that is attached twice; the window's error handler is fatal, whatever that of its communicator is.
// ranks: 2
// expect: MPI_Win_attach
// expect: MPI_ERR_RMA_ATTACH
// expect: size is 50, expected memory that is not attached
// expect: {file}:{line:WRONG}
#include "../wrong.h"

int main(int argc, char **argv)
{
    MPI_Win win;
    static char memory[100];
    begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_attach(win, memory, sizeof memory);
    MPI_Win_attach(win, memory + 50, 50); /* WRONG */
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
