// An exclusive lock without a check, while another rank has the same target.
// ranks: 3
// flags: --check
// status: 3
// expect: rank 1 asserts MPI_MODE_NOCHECK in MPI_Win_lock in main at
// expect: but rank 0 has locked rank 2 at the same time by MPI_Win_lock in main at
// expect: {file}:{line:WRONG}
#include "../wrong.h"

int main(int argc, char **argv)
{
    long *memory;
    MPI_Win win;
    begin(&argc, &argv);
    MPI_Win_allocate(64, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    if (rank == 0) MPI_Win_lock(MPI_LOCK_SHARED, 2, 0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 2, MPI_MODE_NOCHECK, win); /* WRONG */
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank < 2) MPI_Win_unlock(2, win);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
