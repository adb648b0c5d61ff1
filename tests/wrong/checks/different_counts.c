// Lengths that do not agree.
// ranks: 2
// flags: --check --timeout 20
// expect: count
// expect: {file}:{line:WRONG}
#include "../wrong.h"

int main(int argc, char **argv)
{
    int value[4] = {0}, result[4];
    begin(&argc, &argv);
    MPI_Allreduce(value, result, rank ? 2 : 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* WRONG */
    MPI_Finalize();
    return 0;
}
