// Ranks are counted from zero.
// ranks: 2
// expect: MPI_Reduce
// expect: root is 2
// expect: {file}:{line:WRONG}
#include "../wrong.h"

int main(int argc, char **argv)
{
    int value = 1, sum = 0;
    begin(&argc, &argv);
    MPI_Reduce(&value, &sum, 1, MPI_INT, MPI_SUM, size, MPI_COMM_WORLD); /* WRONG */
    MPI_Finalize();
    return 0;
}
