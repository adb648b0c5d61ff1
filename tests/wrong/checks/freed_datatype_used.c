// A datatype after it was freed.
// ranks: 2
// flags: --check
// expect: freed
// expect: {file}:{line:WRONG}
#include "../wrong.h"

int main(int argc, char **argv)
{
    int value[2] = {0};
    MPI_Datatype pair, kept;
    begin(&argc, &argv);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    kept = pair;
    MPI_Type_free(&pair);
    MPI_Send(value, 1, kept, rank, 0, MPI_COMM_WORLD); /* WRONG */
    MPI_Finalize();
    return 0;
}
