/* Thousands of outstanding requests between all pairs, posted in one order and sent in another. */
#include "check.h"

enum { EACH = 1500 };

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    int total = EACH * size;
    MPI_Request *requests = malloc(2 * total * sizeof *requests);
    int *in = malloc(total * sizeof *in), *out = malloc(total * sizeof *out);
    for (int i = 0; i < total; i++) {
        in[i] = -1;
        MPI_Irecv(&in[i], 1, MPI_INT, i % size, i / size, MPI_COMM_WORLD, &requests[i]);
    }
    for (int i = 0; i < total; i++) {
        int to = i % size, tag = EACH - 1 - i / size; /* the last receive is served first */
        out[i] = rank * 100000 + tag;
        MPI_Isend(&out[i], 1, MPI_INT, to, tag, MPI_COMM_WORLD, &requests[total + i]);
    }
    MPI_Waitall(2 * total, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < total; i++) SAME(in[i], (i % size) * 100000 + i / size);

    /* Unexpected: everything is sent before anything is received, then taken from the end. */
    for (int i = 0; i < total; i++) {
        out[i] = rank * 100000 + i / size;
        MPI_Isend(&out[i], 1, MPI_INT, i % size, i / size, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = total - 1; i >= 0; i--) {
        int number;
        MPI_Recv(&number, 1, MPI_INT, i % size, i / size, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        SAME(number, (i % size) * 100000 + i / size);
    }
    MPI_Waitall(total, requests, MPI_STATUSES_IGNORE);
    free(requests);
    free(in);
    free(out);
    return conclude();
}
