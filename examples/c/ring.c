/* A token goes once around the ring. Each rank adds its number to the sum and leaves the sum in the token; when rank 0 has
 * it back, it prints the whole way. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    int *sum_at = calloc(size, sizeof *sum_at); /* the token: the sum as each rank left it */

    if (rank == 0) {
        MPI_Sendrecv_replace(sum_at, size, MPI_INT, next, 0, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        printf("rank 0 starts the token around %d ranks\n", size);
        for (int r = 1; r < size; r++) printf("rank %d adds itself: %d\n", r, sum_at[r]);
        printf("rank 0 has it back: %d, expected %d\n", sum_at[size - 1], size * (size - 1) / 2);
    } else {
        MPI_Recv(sum_at, size, MPI_INT, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        sum_at[rank] = sum_at[rank - 1] + rank;
        MPI_Send(sum_at, size, MPI_INT, next, 0, MPI_COMM_WORLD);
    }
    int wrong = rank == 0 && sum_at[size - 1] != size * (size - 1) / 2;
    free(sum_at);
    MPI_Finalize();
    return wrong;
}
