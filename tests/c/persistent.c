/* Persistent requests of every mode: inactive until started, started again, freed. */
#include "check.h"

enum { LONG = 40000, ROUNDS = 5 };
static int out[5][LONG], in[5][LONG];

int main(int argc, char **argv)
{
    MPI_Request requests[8];
    MPI_Status statuses[8];
    begin(&argc, &argv);
    int next = (rank + 1) % size, previous = (rank + size - 1) % size, flag, outcount, indices[8];
    int room = 10 * (LONG * (int)sizeof(int) + MPI_BSEND_OVERHEAD);
    void *buffer = malloc(room);
    MPI_Buffer_attach(buffer, room);

    for (int m = 0; m < 4; m++) {
        int count = m % 2 ? LONG : 3;
        MPI_Recv_init(in[m], count, MPI_INT, previous, m, MPI_COMM_WORLD, &requests[m]);
    }
    MPI_Send_init(out[0], 3, MPI_INT, next, 0, MPI_COMM_WORLD, &requests[4]);
    MPI_Ssend_init(out[1], LONG, MPI_INT, next, 1, MPI_COMM_WORLD, &requests[5]);
    MPI_Bsend_init(out[2], 3, MPI_INT, next, 2, MPI_COMM_WORLD, &requests[6]);
    MPI_Rsend_init(out[3], LONG, MPI_INT, next, 3, MPI_COMM_WORLD, &requests[7]);

    /* Inactive requests are complete and empty. */
    MPI_Testall(8, requests, &flag, statuses);
    CHECK(flag);
    SAME(statuses[0].MPI_SOURCE, MPI_ANY_SOURCE);
    SAME(statuses[0].MPI_TAG, MPI_ANY_TAG);
    MPI_Waitsome(8, requests, &outcount, indices, statuses);
    SAME(outcount, MPI_UNDEFINED);

    for (int round = 0; round < ROUNDS; round++) {
        for (int m = 0; m < 4; m++)
            for (int i = 0; i < LONG; i++) {
                out[m][i] = rank * 1000 + round * 10 + m + i;
                in[m][i] = -1;
            }
        MPI_Startall(4, requests);
        MPI_Barrier(MPI_COMM_WORLD);
        for (int m = 4; m < 8; m++) MPI_Start(&requests[m]);
        MPI_Waitall(8, requests, statuses);
        for (int m = 0; m < 4; m++) {
            int last = m % 2 ? LONG - 1 : 2;
            CHECK(requests[m] != MPI_REQUEST_NULL); /* it stays */
            SAME(statuses[m].MPI_SOURCE, previous);
            SAME(in[m][0], previous * 1000 + round * 10 + m);
            SAME(in[m][last], previous * 1000 + round * 10 + m + last);
        }
    }
    for (int m = 0; m < 8; m++) {
        MPI_Request_free(&requests[m]);
        CHECK(requests[m] == MPI_REQUEST_NULL);
    }
    MPI_Buffer_detach(&buffer, &room);
    free(buffer);
    return conclude();
}
