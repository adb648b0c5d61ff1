// Shared locks do not exclude each other: the second rank writes while the put of the first is not complete.
// ranks: 3
// flags: --check
// status: 3
// expect: bytes 0 to 7 of rank 2 in the window of MPI_Win_allocate in main at
// expect: rank 0 writes them by MPI_Put in main at
// expect: {file}:{line:WRONG}
// expect: check: 1 finding
#include "../wrong.h"

int main(int argc, char **argv)
{
    long *memory, value = 1;
    MPI_Win win;
    begin(&argc, &argv);
    MPI_Win_allocate(64, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_lock_all(0, win);
    if (rank == 0) MPI_Put(&value, 1, MPI_LONG, 2, 0, 1, MPI_LONG, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) MPI_Put(&value, 1, MPI_LONG, 2, 0, 1, MPI_LONG, win); /* WRONG */
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
