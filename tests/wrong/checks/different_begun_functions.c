// One exchanges parts of equal size, the other one parts of its own sizes; one of the two notices that it gets too much.
// ranks: 2
// flags: --check --timeout 60
// status: 3
// expect: collective call 1 on MPI_COMM_WORLD differs in its function: rank 0 calls MPI_Ialltoall in main at
// expect: rank 1 calls MPI_Ialltoallv in main at
// expect: {file}:{line:WRONG}
// never: expected at most
#include "../wrong.h"

int main(int argc, char **argv)
{
    static const int one[2] = {1, 1}, at[2] = {0, 1};
    int out[4] = {0}, in[4];
    MPI_Request request;
    begin(&argc, &argv);
    if (rank == 0)
        MPI_Ialltoall(out, 2, MPI_INT, in, 2, MPI_INT, MPI_COMM_WORLD, &request); /* WRONG */
    else
        MPI_Ialltoallv(out, one, at, MPI_INT, in, one, at, MPI_INT, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
