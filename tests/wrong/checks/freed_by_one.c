// One rank frees a communicator, the other one does not.
// ranks: 2
// flags: --check --timeout 60
// expect: this rank made 1 collective call on the communicator that MPI_Comm_dup
// expect: rank 1 made 0, expected as many
// expect: 1 communicator made by MPI_Comm_dup
#include "../wrong.h"

int main(int argc, char **argv)
{
    MPI_Comm comm;
    begin(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (rank == 0) MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
