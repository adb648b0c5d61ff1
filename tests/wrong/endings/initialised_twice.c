// MPI_Init once more.
// ranks: 3
// expect: MPI_Init
#include "../wrong.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Init(&argc, &argv);
    MPI_Finalize();
    return 0;
}
