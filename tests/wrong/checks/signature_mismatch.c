// Integers are sent, floating-point numbers received.
// ranks: 2
// flags: --check
// expect: MPI_FLOAT
// expect: {file}:{line:WRONG}
#include "../wrong.h"

int main(int argc, char **argv)
{
    int number = 1;
    float real = 0;
    begin(&argc, &argv);
    if (rank == 1)
        MPI_Send(&number, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    else
        MPI_Recv(&real, 1, MPI_FLOAT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* WRONG */
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
