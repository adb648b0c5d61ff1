// A loop of tests that never succeeds: told, but not ended, since the program might know better.
// ranks: 2
// flags: --hang-timeout 1 --timeout 4
// status: 124
// expect: MPI_Test
#include "../wrong.h"

int main(int argc, char **argv)
{
    int value = 0, done = 0;
    MPI_Request request;
    begin(&argc, &argv);
    if (rank == 0) {
        MPI_Irecv(&value, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, &request);
        while (!done)
            MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
