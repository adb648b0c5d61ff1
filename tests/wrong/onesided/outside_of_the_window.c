// A displacement that counts in units of the origin's window, where the target has larger ones and less memory.
// ranks: 2
// flags: --check
// expect: target_disp is 10, which reaches bytes 80 to 87 of rank 1, expected bytes of its memory: 40 bytes, a displacement being 8 of them, as MPI_Win_create in small at
// expect: {file}:{line:WRONG}
// expect: {file}:{line:THERE}
#include "../wrong.h"

static long memory[100];
static MPI_Win win;

static void large(void)
{
    MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
}

static void small(void)
{
    MPI_Win_create(memory, 40, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win); /* THERE */
}

int main(int argc, char **argv)
{
    long value = 1;
    begin(&argc, &argv);
    if (rank == 0)
        large();
    else
        small();
    MPI_Win_fence(0, win);
    if (rank == 0) MPI_Put(&value, 1, MPI_LONG, 1, 10, 1, MPI_LONG, win); /* WRONG */
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
