// A sum here, a maximum there.
// ranks: 2
// flags: --check --timeout 20
// expect: MPI_MAX
// expect: {file}:{line:WRONG}
#include "../wrong.h"

int main(int argc, char **argv)
{
    int value = 1, result;
    begin(&argc, &argv);
    MPI_Allreduce(&value, &result, 1, MPI_INT, rank ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD); /* WRONG */
    MPI_Finalize();
    return 0;
}
