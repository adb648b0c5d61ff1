// A member that the group does not have.
// ranks: 2
// expect: MPI_Group_incl
// expect: 9
// expect: {file}:{line:WRONG}
#include "../wrong.h"

int main(int argc, char **argv)
{
    MPI_Group world, one;
    int member = 9;
    begin(&argc, &argv);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &member, &one); /* WRONG */
    MPI_Finalize();
    return 0;
}
