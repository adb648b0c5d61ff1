// One rank reads what another one accumulates to, in one exposure.
// ranks: 3
// flags: --check
// status: 3
// expect: check: rank 0: bytes 0 to 3 of rank 0 in the window of
// expect: rank 1 accumulates (MPI_SUM of MPI_INT) them by MPI_Accumulate in main at
// expect: rank 2 reads them by MPI_Get in main at
// expect: {file}:{line:ADDS}
// expect: {file}:{line:READS}
#include "../wrong.h"

int main(int argc, char **argv)
{
    int *memory, value = 1, zero = 0;
    MPI_Win win;
    MPI_Group all, target, origins;
    begin(&argc, &argv);
    MPI_Win_allocate(64, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &zero, &target);
    MPI_Group_excl(all, 1, &zero, &origins);
    if (rank == 0) {
        MPI_Win_post(origins, 0, win);
        MPI_Win_wait(win);
    } else {
        MPI_Win_start(target, 0, win);
        if (rank == 1) MPI_Accumulate(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win); /* ADDS */
        if (rank == 2) MPI_Get(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win); /* READS */
        MPI_Win_complete(win);
    }
    MPI_Win_free(&win);
    MPI_Group_free(&all);
    MPI_Group_free(&target);
    MPI_Group_free(&origins);
    MPI_Finalize();
    return 0;
}
