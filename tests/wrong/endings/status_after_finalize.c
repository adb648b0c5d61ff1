// A failure that only one rank knows of.
// ranks: 3
// status: 7
#include "../wrong.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Finalize();
    if (rank == 1)
        return 7;
    return 0;
}
