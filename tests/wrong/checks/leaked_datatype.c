// A datatype that is never freed.
// ranks: 2
// flags: --check
// expect: datatype
// expect: {file}:{line:WRONG}
#include "../wrong.h"

int main(int argc, char **argv)
{
    MPI_Datatype row;
    begin(&argc, &argv);
    MPI_Type_vector(4, 1, 8, MPI_DOUBLE, &row); /* WRONG */
    MPI_Type_commit(&row);
    MPI_Finalize();
    return 0;
}
