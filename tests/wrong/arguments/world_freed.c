// Nobody may free the world.
// ranks: 2
// expect: MPI_Comm_free
// expect: MPI_COMM_WORLD
// expect: {file}:{line:WRONG}
#include "../wrong.h"

int main(int argc, char **argv)
{
    MPI_Comm world = MPI_COMM_WORLD;
    begin(&argc, &argv);
    MPI_Comm_free(&world); /* WRONG */
    MPI_Finalize();
    return 0;
}
