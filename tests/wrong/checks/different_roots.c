// Two ranks that each think they are the root.
// ranks: 2
// flags: --check --timeout 20
// expect: root
// expect: {file}:{line:WRONG}
#include "../wrong.h"

int main(int argc, char **argv)
{
    int value = 0;
    begin(&argc, &argv);
    MPI_Bcast(&value, 1, MPI_INT, rank, MPI_COMM_WORLD); /* WRONG */
    MPI_Finalize();
    return 0;
}
