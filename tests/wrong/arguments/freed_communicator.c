// A handle that was kept after its communicator was freed.
// ranks: 2
// expect: MPI_Comm_size
// expect: comm
// expect: {file}:{line:WRONG}
#include "../wrong.h"

int main(int argc, char **argv)
{
    MPI_Comm copy, kept;
    begin(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    kept = copy;
    MPI_Comm_free(&copy);
    MPI_Comm_size(kept, &size); /* WRONG */
    MPI_Finalize();
    return 0;
}
