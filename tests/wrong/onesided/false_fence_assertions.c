// Fences that assert what is not so: that nothing came before, that nobody puts, that nothing was stored; and one that not all assert.
// ranks: 2
// flags: --check
// status: 3
// expect: MPI_MODE_NOPRECEDE is asserted, but MPI_Put in main at
// expect: rank 1 asserts MPI_MODE_NOPUT in MPI_Win_fence in main at
// expect: but rank 0 changes its memory in the epoch that this begins, by MPI_Put in main at
// expect: rank 0 asserts MPI_MODE_NOSTORE in MPI_Win_fence in main at
// expect: rank 1 asserts MPI_MODE_NOSUCCEED in MPI_Win_fence in main at
// expect: {file}:{line:PRECEDED}
// expect: {file}:{line:PUT ALL THE SAME}
// expect: {file}:{line:STORED}
// expect: {file}:{line:NOT ALL}
#include "../wrong.h"

int main(int argc, char **argv)
{
    long memory[4] = {0}, value = 3;
    MPI_Win win;
    begin(&argc, &argv);
    MPI_Win_create(memory, sizeof memory, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    MPI_Put(&value, 1, MPI_LONG, 1 - rank, 0, 1, MPI_LONG, win);
    MPI_Win_fence(MPI_MODE_NOPRECEDE, win); /* PRECEDED */
    MPI_Win_fence(rank ? MPI_MODE_NOPUT : 0, win); /* PUT ALL THE SAME */
    if (rank == 0) MPI_Put(&value, 1, MPI_LONG, 1, 1, 1, MPI_LONG, win);
    MPI_Win_fence(0, win);
    memory[3]++;
    MPI_Win_fence(rank ? 0 : MPI_MODE_NOSTORE, win); /* STORED */
    MPI_Win_fence(rank ? MPI_MODE_NOSUCCEED : 0, win); /* NOT ALL */
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
