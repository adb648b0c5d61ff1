// The root has little to tell, the others expect much, in pieces that nobody sends.
// ranks: 8
// flags: --hang-timeout 1 --on-hang abort
// status: 125
// expect: the members of MPI_Bcast on MPI_COMM_WORLD disagree about its size: ranks 0 and 2-7 have 700000 bytes; rank 1 has 100 bytes
// expect: ranks 0 and 2-7 are in MPI_Bcast on MPI_COMM_WORLD, but not all its members are: rank 1 is in MPI_Finalize
// never: in one order
#include "../wrong.h"

int main(int argc, char **argv)
{
    static char text[700000];
    begin(&argc, &argv);
    MPI_Bcast(text, rank == 1 ? 100 : sizeof text, MPI_CHAR, 1, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
