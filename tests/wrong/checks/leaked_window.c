// Windows that are never freed.
// ranks: 2
// flags: --check
// expect: window made by MPI_Win_create_dynamic
// expect: {file}:{line:WRONG}
#include "../wrong.h"

int main(int argc, char **argv)
{
    MPI_Win win;
    begin(&argc, &argv);
    for (int step = 0; step < 3; step++)
        MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win); /* WRONG */
    MPI_Finalize();
    return 0;
}
