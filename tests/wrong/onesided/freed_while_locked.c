// A window is freed while a rank is still locked.
// ranks: 2
// flags: --check
// expect: no epoch in which this can be done with the window of MPI_Win_allocate in main at
// expect: rank 1 is locked by MPI_Win_lock in main at
// expect: {file}:{line:WRONG}
// expect: {file}:{line:LOCKED}
#include "../wrong.h"

int main(int argc, char **argv)
{
    long *memory;
    MPI_Win win;
    begin(&argc, &argv);
    MPI_Win_allocate(64, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    if (rank == 0) MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win); /* LOCKED */
    MPI_Win_free(&win); /* WRONG */
    MPI_Finalize();
    return 0;
}
