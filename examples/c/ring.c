/* A token goes once around the ring; each rank adds its number and says so.
 * The lines come out in order because a rank prints before it passes the token on. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank, size, token;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;

    if (rank == 0) {
        token = 0;
        printf("rank 0 starts the token around %d ranks\n", size);
        fflush(stdout);
        MPI_Sendrecv_replace(&token, 1, MPI_INT, next, 0, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        printf("rank 0 has it back: %d, expected %d\n", token, size * (size - 1) / 2);
    } else {
        MPI_Recv(&token, 1, MPI_INT, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        token += rank;
        printf("rank %d adds itself: %d\n", rank, token);
        fflush(stdout);
        MPI_Send(&token, 1, MPI_INT, next, 0, MPI_COMM_WORLD);
    }
    int wrong = rank == 0 && token != size * (size - 1) / 2;
    MPI_Finalize();
    return wrong;
}
