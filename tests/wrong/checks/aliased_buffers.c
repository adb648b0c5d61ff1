// The result of a reduction on top of its operand, without MPI_IN_PLACE.
// ranks: 2
// flags: --check
// expect: alias
// expect: {file}:{line:WRONG}
#include "../wrong.h"

int main(int argc, char **argv)
{
    int value[2] = {1, 1};
    begin(&argc, &argv);
    MPI_Allreduce(value, value, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* WRONG */
    MPI_Finalize();
    return 0;
}
