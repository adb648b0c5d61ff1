// A message that nobody receives.
// ranks: 2
// flags: --check
// expect: never received
// expect: tag 13
#include "../wrong.h"

int main(int argc, char **argv)
{
    int value = 0;
    begin(&argc, &argv);
    if (rank == 1)
        MPI_Send(&value, 1, MPI_INT, 0, 13, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
