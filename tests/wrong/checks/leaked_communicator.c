// A communicator a step, never freed.
// ranks: 2
// flags: --check
// expect: communicator
// expect: {file}:{line:WRONG}
#include "../wrong.h"

int main(int argc, char **argv)
{
    MPI_Comm copy;
    begin(&argc, &argv);
    for (int step = 0; step < 3; step++)
        MPI_Comm_dup(MPI_COMM_WORLD, &copy); /* WRONG */
    MPI_Finalize();
    return 0;
}
