// One rank does not come to free a window, which all have to.
// ranks: 3
// flags: --hang-timeout 1 --on-hang abort
// status: 125
// expect: MPI_Win_free
// expect: halo
// expect: rank 2 is in MPI_Recv
#include "../wrong.h"

int main(int argc, char **argv)
{
    int value = 0;
    MPI_Win win;
    begin(&argc, &argv);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_name(win, "halo");
    if (rank == 2)
        MPI_Recv(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
