// Memory is detached by an address within it.
// ranks: 2
// expect: MPI_Win_detach
// expect: MPI_ERR_RMA_ATTACH
// expect: base is 0x
// expect: {file}:{line:WRONG}
#include "../wrong.h"

int main(int argc, char **argv)
{
    MPI_Win win;
    static char memory[100];
    begin(&argc, &argv);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_attach(win, memory, sizeof memory);
    MPI_Win_detach(win, memory + 1); /* WRONG */
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
