// Wildcards are for receives.
// ranks: 2
// expect: MPI_Send
// expect: tag
// expect: {file}:{line:WRONG}
#include "../wrong.h"

int main(int argc, char **argv)
{
    int value = 0;
    begin(&argc, &argv);
    MPI_Send(&value, 1, MPI_INT, 1 - rank, MPI_ANY_TAG, MPI_COMM_WORLD); /* WRONG */
    MPI_Finalize();
    return 0;
}
