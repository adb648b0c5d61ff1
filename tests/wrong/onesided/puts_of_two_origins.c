// Two ranks write to the same place of a third one between the same two fences.
// ranks: 3
// flags: --check
// status: 3
// expect: bytes 8 to 11 of rank 2 in the window of MPI_Win_create in main at
// expect: are reached by two ranks at once: rank 0 writes them by MPI_Put in main at
// expect: rank 1 writes them by MPI_Put in main at
// expect: {file}:{line:WRONG}
// expect: check: 1 finding
#include "../wrong.h"

int main(int argc, char **argv)
{
    int memory[8] = {0}, value = 1;
    MPI_Win win;
    begin(&argc, &argv);
    MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < 3; i++) {
        if (rank < 2) MPI_Put(&value, 1, MPI_INT, 2, 2, 1, MPI_INT, win); /* WRONG */
        MPI_Win_fence(0, win);
    }
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
