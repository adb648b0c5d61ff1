// A window is freed before a fence has completed what was put.
// ranks: 2
// flags: --check
// status: 3
// expect: operations in the epoch of MPI_Win_fence in main at
// expect: are not complete, MPI_Put in main at
// expect: {file}:{line:WRONG}
#include "../wrong.h"

int main(int argc, char **argv)
{
    long *memory, value = 3;
    MPI_Win win;
    begin(&argc, &argv);
    MPI_Win_allocate(64, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_fence(0, win);
    MPI_Put(&value, 1, MPI_LONG, 1 - rank, 0, 1, MPI_LONG, win);
    MPI_Win_free(&win); /* WRONG */
    MPI_Finalize();
    return 0;
}
