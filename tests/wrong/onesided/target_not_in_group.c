// A get from a rank that the epoch was not started with.
// ranks: 3
// flags: --check
// expect: no epoch in which this can be done with rank 2 of the window of MPI_Win_allocate
// expect: the epoch of MPI_Win_start in main at
// expect: with rank 1 is open
// expect: {file}:{line:WRONG}
#include "../wrong.h"

int main(int argc, char **argv)
{
    int *memory, value, one = 1, zero = 0;
    MPI_Win win;
    MPI_Group all, target, origin;
    begin(&argc, &argv);
    MPI_Win_allocate(sizeof *memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &one, &target);
    MPI_Group_incl(all, 1, &zero, &origin);
    if (rank == 0) {
        MPI_Win_start(target, 0, win);
        MPI_Get(&value, 1, MPI_INT, 2, 0, 1, MPI_INT, win); /* WRONG */
        MPI_Win_complete(win);
    } else if (rank == 1) {
        MPI_Win_post(origin, 0, win);
        MPI_Win_wait(win);
    }
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
