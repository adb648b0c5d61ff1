// A target that asserts that nobody puts, and an origin that asserts that the target has posted, though it does so later.
// ranks: 2
// flags: --check
// status: 3
// expect: rank 1 asserts MPI_MODE_NOPUT in MPI_Win_post in main at
// expect: rank 0 asserts MPI_MODE_NOCHECK in MPI_Win_start in main at
// expect: but rank 1 called MPI_Win_post in main at
// expect: {file}:{line:POSTED}
// expect: {file}:{line:STARTED}
#include "../wrong.h"

int main(int argc, char **argv)
{
    long *memory, value = 3;
    int zero = 0, one = 1;
    MPI_Win win;
    MPI_Group all, first, second;
    begin(&argc, &argv);
    MPI_Win_allocate(64, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &zero, &first);
    MPI_Group_incl(all, 1, &one, &second);
    if (rank == 0) {
        MPI_Win_start(second, MPI_MODE_NOCHECK, win); /* STARTED */
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Put(&value, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win);
        MPI_Win_complete(win);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_post(first, MPI_MODE_NOCHECK | MPI_MODE_NOPUT, win); /* POSTED */
        MPI_Win_wait(win);
    }
    MPI_Group_free(&all);
    MPI_Group_free(&first);
    MPI_Group_free(&second);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
