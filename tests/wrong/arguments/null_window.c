// A window that was never made.
// ranks: 2
// expect: MPI_Win_set_name
// expect: win is MPI_WIN_NULL
// expect: {file}:{line:WRONG}
#include "../wrong.h"

int main(int argc, char **argv)
{
    MPI_Win win = MPI_WIN_NULL;
    begin(&argc, &argv);
    MPI_Win_set_name(win, "halo"); /* WRONG */
    MPI_Finalize();
    return 0;
}
