// Memory that was never had.
// ranks: 2
// expect: MPI_Bcast
// expect: buffer
// expect: {file}:{line:WRONG}
#include "../wrong.h"

int main(int argc, char **argv)
{
    int *value = NULL;
    begin(&argc, &argv);
    MPI_Bcast(value, 4, MPI_INT, 0, MPI_COMM_WORLD); /* WRONG */
    MPI_Finalize();
    return 0;
}
