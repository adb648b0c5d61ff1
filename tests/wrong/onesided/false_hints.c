// Hints that promise windows of one size, and no locks.
// ranks: 2
// flags: --check
// status: 3
// expect: info says same_size, but rank 0 has 8 bytes and rank 1 has 16 (MPI 5.0, 12.2.1)
// expect: says no_locks, expected no locks
// expect: {file}:{line:SIZES}
// expect: {file}:{line:LOCKED}
// never: same_disp_unit
#include "../wrong.h"

int main(int argc, char **argv)
{
    long *memory;
    MPI_Win win;
    MPI_Info info;
    begin(&argc, &argv);
    MPI_Info_create(&info);
    MPI_Info_set(info, "same_size", "true");
    MPI_Info_set(info, "same_disp_unit", "true");
    MPI_Info_set(info, "no_locks", "true");
    MPI_Win_allocate(8 * (rank + 1), 8, info, MPI_COMM_WORLD, &memory, &win); /* SIZES */
    MPI_Info_free(&info);
    if (rank == 1) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win); /* LOCKED */
        MPI_Win_unlock(0, win);
    }
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
