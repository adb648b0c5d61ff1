// MPI is used after its end.
// ranks: 3
// expect: MPI_Barrier
// expect: after MPI_Finalize
#include "../wrong.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Finalize();
    MPI_Barrier(MPI_COMM_WORLD);
    return 0;
}
