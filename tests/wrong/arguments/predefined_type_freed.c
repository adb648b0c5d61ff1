// Types of the library are not freed.
// ranks: 2
// expect: MPI_Type_free
// expect: MPI_INT
// expect: {file}:{line:WRONG}
#include "../wrong.h"

int main(int argc, char **argv)
{
    MPI_Datatype type = MPI_INT;
    begin(&argc, &argv);
    MPI_Type_free(&type); /* WRONG */
    MPI_Finalize();
    return 0;
}
