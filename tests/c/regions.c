/* Two rounds of region 3 with region 7 within; a pause lies between them. */
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, in, round;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (round = 0; round < 2; round++) {
        MPI_Pcontrol(3);
        MPI_Pcontrol(7);
        MPI_Sendrecv(&rank, 1, MPI_INT, 1 - rank, round, &in, 1, MPI_INT, 1 - rank, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (in != 1 - rank) return 1;
        MPI_Pcontrol(-7);
        MPI_Pcontrol(-3);
        MPI_Pcontrol(0);
        MPI_Pcontrol(9);
        MPI_Pcontrol(-9);
        MPI_Pcontrol(1);
    }
    MPI_Finalize();
    return 0;
}
