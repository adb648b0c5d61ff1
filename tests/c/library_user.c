/* Keeps something of its own in a library (library_state.c). */
#include "check.h"

void keep(int value);
int kept(void);

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    keep(rank);
    MPI_Barrier(MPI_COMM_WORLD);
    SAME(kept(), rank);
    return conclude();
}
