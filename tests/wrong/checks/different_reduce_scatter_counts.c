// Rank 1 thinks that its own part is larger.
// ranks: 2
// flags: --check --timeout 20
// expect: differs in its recvcounts[1], 8 bytes against 12
// expect: {file}:{line:WRONG}
#include "../wrong.h"

int main(int argc, char **argv)
{
    int counts[2] = {2, 2}, data[8] = {0}, result[8];
    begin(&argc, &argv);
    if (rank == 1) counts[1] = 3;
    MPI_Reduce_scatter(data, result, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* WRONG */
    MPI_Finalize();
    return 0;
}
