// A get of what a put of the same epoch writes: the fence comes too late.
// ranks: 2
// flags: --check
// status: 3
// expect: are reached twice in one epoch: this call reads them, and MPI_Put in main at
// expect: {file}:{line:WRONG}
#include "../wrong.h"

int main(int argc, char **argv)
{
    int *memory, value = 1, back = 0;
    MPI_Win win;
    begin(&argc, &argv);
    MPI_Win_allocate(64, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_fence(0, win);
    MPI_Put(&value, 1, MPI_INT, 1 - rank, 3, 1, MPI_INT, win);
    MPI_Get(&back, 1, MPI_INT, 1 - rank, 3, 1, MPI_INT, win); /* WRONG */
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
