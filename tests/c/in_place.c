/* Reduce-scatter in place leaves everything behind the rank's own block of the receive buffer as it was. */
#include "check.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    for (int block = 1; block <= 20000; block *= 100) {
        int *buffer = malloc(sizeof(int) * block * size), *counts = malloc(sizeof(int) * size);
        for (int form = 0; form < 4; form++) {
            MPI_Request request = MPI_REQUEST_NULL;
            for (int i = 0; i < block * size; i++) buffer[i] = 100 * rank + i % 7;
            for (int i = 0; i < size; i++) counts[i] = block;
            switch (form) {
            case 0: MPI_Reduce_scatter(MPI_IN_PLACE, buffer, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD); break;
            case 1: MPI_Reduce_scatter_block(MPI_IN_PLACE, buffer, block, MPI_INT, MPI_SUM, MPI_COMM_WORLD); break;
            case 2: MPI_Ireduce_scatter(MPI_IN_PLACE, buffer, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request); break;
            default:
                MPI_Ireduce_scatter_block(MPI_IN_PLACE, buffer, block, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
            }
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            for (int i = 0; i < block; i++)
                SAME(buffer[i], 100 * size * (size - 1) / 2 + size * ((rank * block + i) % 7));
            for (int i = block; i < block * size; i++) SAME(buffer[i], 100 * rank + i % 7);
        }
        free(buffer), free(counts);
    }
    return conclude();
}
