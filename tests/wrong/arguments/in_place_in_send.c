// MPI_IN_PLACE is for collectives.
// ranks: 2
// expect: MPI_Send
// expect: MPI_IN_PLACE
// expect: {file}:{line:WRONG}
#include "../wrong.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Send(MPI_IN_PLACE, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD); /* WRONG */
    MPI_Finalize();
    return 0;
}
