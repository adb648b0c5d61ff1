// A datatype where a communicator belongs.
// ranks: 2
// expect: MPI_Comm_rank
// expect: comm
// expect: {file}:{line:WRONG}
#include "../wrong.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Comm_rank((MPI_Comm)MPI_DOUBLE, &rank); /* WRONG */
    MPI_Finalize();
    return 0;
}
