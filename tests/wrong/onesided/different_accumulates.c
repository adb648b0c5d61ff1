// Accumulates of two ranks meet with different operations, and with different types.
// ranks: 3
// flags: --check
// status: 3
// expect: rank 0 accumulates (MPI_SUM of MPI_INT) them by
// expect: rank 1 accumulates (MPI_PROD of MPI_INT) them by
// expect: accumulates that meet must have the same operation, or MPI_NO_OP (MPI 5.0, 12.2.1, accumulate_ops)
// expect: rank 1 accumulates (MPI_SUM of MPI_LONG) them by
// expect: accumulates that meet must have the same basic type (MPI 5.0, 12.7)
// expect: {file}:{line:OTHER OPERATION}
// expect: {file}:{line:OTHER TYPE}
#include "../wrong.h"

int main(int argc, char **argv)
{
    long memory[8] = {0}, value = 1;
    int small = 1;
    MPI_Win win;
    begin(&argc, &argv);
    MPI_Win_create(memory, sizeof memory, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    if (rank == 0) MPI_Accumulate(&small, 1, MPI_INT, 2, 0, 1, MPI_INT, MPI_SUM, win);
    if (rank == 1) MPI_Accumulate(&small, 1, MPI_INT, 2, 0, 1, MPI_INT, MPI_PROD, win); /* OTHER OPERATION */
    MPI_Win_fence(0, win);
    if (rank == 0) MPI_Accumulate(&small, 1, MPI_INT, 2, 1, 1, MPI_INT, MPI_SUM, win);
    if (rank == 1) MPI_Accumulate(&value, 1, MPI_LONG, 2, 1, 1, MPI_LONG, MPI_SUM, win); /* OTHER TYPE */
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
