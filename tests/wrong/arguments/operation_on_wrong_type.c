// Bits of a floating-point number.
// ranks: 2
// expect: MPI_Allreduce
// expect: MPI_BAND
// expect: doubles
// expect: {file}:{line:WRONG}
#include "../wrong.h"

int main(int argc, char **argv)
{
    double value = 1, result;
    begin(&argc, &argv);
    MPI_Allreduce(&value, &result, 1, MPI_DOUBLE, MPI_BAND, MPI_COMM_WORLD); /* WRONG */
    MPI_Finalize();
    return 0;
}
