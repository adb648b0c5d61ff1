// A put after the unlock that ended its epoch.
// ranks: 2
// flags: --check
// expect: no epoch in which this can be done with rank 1 of the window of MPI_Win_create
// expect: no epoch is open, MPI_Win_unlock in main at
// expect: {file}:{line:WRONG}
// expect: {file}:{line:ENDED}
#include "../wrong.h"

int main(int argc, char **argv)
{
    int memory = 0, value = 1;
    MPI_Win win;
    begin(&argc, &argv);
    MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
        MPI_Win_unlock(1, win); /* ENDED */
        MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win); /* WRONG */
    }
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
