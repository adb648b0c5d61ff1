// A communicator that this rank did not become a member of.
// ranks: 2
// expect: MPI_Barrier
// expect: MPI_COMM_NULL
// expect: {file}:{line:WRONG}
#include "../wrong.h"

int main(int argc, char **argv)
{
    MPI_Comm half = MPI_COMM_NULL;
    begin(&argc, &argv);
    MPI_Comm_split(MPI_COMM_WORLD, MPI_UNDEFINED, 0, &half);
    MPI_Barrier(half); /* WRONG */
    MPI_Finalize();
    return 0;
}
