// Two communicators, used in different orders.
// ranks: 2
// flags: --hang-timeout 1 --on-hang abort
// status: 125
// expect: MPI_Allreduce
// expect: on the communicator that MPI_Comm_dup [main at
#include "../wrong.h"

int main(int argc, char **argv)
{
    int one = 1, sum = 0;
    MPI_Comm pair[2];
    begin(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &pair[0]);
    MPI_Comm_dup(MPI_COMM_WORLD, &pair[1]);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, pair[rank]);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, pair[1 - rank]);
    MPI_Finalize();
    return 0;
}
