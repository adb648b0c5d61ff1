// All but the root make calls on communicators of which one has a name.
// ranks: 3
// flags: --check --timeout 60
// status: 3
// expect: this rank made 0 collective calls on the communicator that MPI_Comm_split in main at
// expect: {file}:{line:MADE} made, rank 1 made 1, expected as many: MPI_Gather in main at
// expect: this rank made 0 collective calls on the communicator "copies", rank 1 made 1, expected as many: MPI_Reduce in main at
#include "../wrong.h"

int main(int argc, char **argv)
{
    int value = 1, all[3];
    MPI_Comm part, copy;
    begin(&argc, &argv);
    MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &part); /* MADE */
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_set_name(copy, "copies");
    if (rank != 0) {
        MPI_Gather(&value, 1, MPI_INT, all, 1, MPI_INT, 0, part);
        MPI_Reduce(&value, all, 1, MPI_INT, MPI_SUM, 0, copy);
    }
    MPI_Finalize();
    return 0;
}
