// The root has less room than rank 2 has data.
// ranks: 3
// flags: --check --timeout 20
// expect: rank 2 sends 16 bytes to rank 0 (sendcount of MPI_Gatherv
// expect: which expects 12 (recvcounts[2] of MPI_Gatherv
// expect: {file}:{line:WRONG}
#include "../wrong.h"

int main(int argc, char **argv)
{
    int counts[3] = {1, 2, 3}, places[3] = {0, 1, 3}, own[4] = {0}, all[8];
    begin(&argc, &argv);
    MPI_Gatherv(own, rank == 2 ? 4 : rank + 1, MPI_INT, all, counts, places, MPI_INT, 0, MPI_COMM_WORLD); /* WRONG */
    MPI_Finalize();
    return 0;
}
