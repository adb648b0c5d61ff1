// Two puts to the same place, between which nothing has completed the first.
// ranks: 2
// flags: --check
// status: 3
// expect: bytes 4 to 7 of rank 1 in the window of MPI_Win_create
// expect: this call writes them, and MPI_Put in main at
// expect: {file}:{line:WRONG}
// expect: {file}:{line:FIRST}
// expect: check: 1 finding
#include "../wrong.h"

int main(int argc, char **argv)
{
    int memory[4] = {0}, values[2] = {1, 2};
    MPI_Win win;
    begin(&argc, &argv);
    MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
        MPI_Put(values, 2, MPI_INT, 1, 0, 2, MPI_INT, win); /* FIRST */
        MPI_Put(values, 1, MPI_INT, 1, 1, 1, MPI_INT, win); /* WRONG */
        MPI_Win_unlock(1, win);
    }
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
