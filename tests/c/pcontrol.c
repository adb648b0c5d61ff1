/* Four exchanges; the two in the middle are not to be recorded. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank, in, tag;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (tag = 0; tag < 4; tag++) {
        MPI_Pcontrol(tag == 0 || tag == 3);
        MPI_Sendrecv(&rank, 1, MPI_INT, 1 - rank, tag, &in, 1, MPI_INT, 1 - rank, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (in != 1 - rank) return 1;
    }
    MPI_Finalize();
    return 0;
}
