// Rank 1 has more for rank 0 than that one has room for, and nothing for rank 2, who waits for it.
// ranks: 3
// flags: --check --timeout 20
// status: 3
// expect: collective call 1 on MPI_COMM_WORLD differs in its counts: rank 1 sends 12 bytes to rank 0 (sendcounts[0] of MPI_Alltoallv
// expect: which expects 8 (recvcounts[1] of MPI_Alltoallv
// expect: {file}:{line:WRONG}
// expect: collective call 2 on MPI_COMM_WORLD differs in its counts: rank 1 sends 0 bytes to rank 2 (sendcounts[2] of MPI_Alltoallv
// expect: a rank waits for what the other does not send
#include "../wrong.h"

static void exchange(const int *sends)
{
    static const int receives[3] = {2, 2, 2}, at[3] = {0, 10, 20};
    static int out[30], in[30];
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Alltoallv(out, sends, at, MPI_INT, in, receives, at, MPI_INT, MPI_COMM_WORLD); /* WRONG */
}

int main(int argc, char **argv)
{
    int sends[3] = {2, 2, 2};
    begin(&argc, &argv);
    if (rank == 1) sends[0] = 3;
    exchange(sends);
    sends[0] = 2;
    if (rank == 1) sends[2] = 0;
    exchange(sends);
    MPI_Finalize();
    return 0;
}
