// A key that nobody made.
// ranks: 2
// expect: MPI_Comm_get_attr
// expect: 987
// expect: {file}:{line:WRONG}
#include "../wrong.h"

int main(int argc, char **argv)
{
    void *value;
    int found;
    begin(&argc, &argv);
    MPI_Comm_get_attr(MPI_COMM_WORLD, 987, &value, &found); /* WRONG */
    MPI_Finalize();
    return 0;
}
