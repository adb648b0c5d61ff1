// A group that is never freed.
// ranks: 2
// flags: --check
// expect: group
// expect: {file}:{line:WRONG}
#include "../wrong.h"

int main(int argc, char **argv)
{
    MPI_Group world;
    begin(&argc, &argv);
    MPI_Comm_group(MPI_COMM_WORLD, &world); /* WRONG */
    MPI_Finalize();
    return 0;
}
