// The data of a put with a request is changed before MPI_Wait.
// ranks: 2
// flags: --check
// status: 3
// expect: origin_addr of MPI_Rput in main at
// expect: was changed before MPI_Wait in main at
// expect: {file}:{line:WRONG}
// expect: check: 1 finding
#include "../wrong.h"

int main(int argc, char **argv)
{
    long *memory, value = 1;
    MPI_Win win;
    MPI_Request request;
    begin(&argc, &argv);
    MPI_Win_allocate(64, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
        MPI_Rput(&value, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win, &request); /* WRONG */
        value = 5;
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Win_unlock(1, win);
    }
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
