// MPI is used before it was initialised.
// ranks: 3
// expect: MPI_Comm_rank
// expect: before MPI_Init
#include "../wrong.h"

int main(int argc, char **argv)
{
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    begin(&argc, &argv);
    MPI_Finalize();
    return 0;
}
