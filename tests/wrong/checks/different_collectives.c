// One reduces, the other one gathers.
// ranks: 2
// flags: --check --timeout 20
// expect: MPI_Reduce
// expect: {file}:{line:WRONG}
#include "../wrong.h"

int main(int argc, char **argv)
{
    int value = 1, result[2];
    begin(&argc, &argv);
    if (rank == 0)
        MPI_Reduce(&value, result, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD); /* WRONG */
    else
        MPI_Gather(&value, 1, MPI_INT, result, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
