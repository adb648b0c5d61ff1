// An operation that is never freed.
// ranks: 2
// flags: --check
// expect: operation
// expect: {file}:{line:WRONG}
#include "../wrong.h"

int main(int argc, char **argv)
{
    MPI_Op op;
    begin(&argc, &argv);
    MPI_Op_create((MPI_User_function *)(void *)main, 1, &op); /* WRONG */
    MPI_Finalize();
    return 0;
}
