// A handle that was kept after its window was freed.
// ranks: 2
// expect: MPI_Win_attach
// expect: win is 0x
// expect: {file}:{line:WRONG}
#include "../wrong.h"

int main(int argc, char **argv)
{
    MPI_Win win, kept;
    char memory[8];
    begin(&argc, &argv);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    kept = win;
    MPI_Win_free(&win);
    MPI_Win_attach(kept, memory, sizeof memory); /* WRONG */
    MPI_Finalize();
    return 0;
}
