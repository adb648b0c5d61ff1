/* A window of non-blocking reductions that is refilled as they complete: more letters under way than a mailbox holds.
   Every PERIOD-th time all of them are completed, else those that are ready.
   usage: rolling OPERATIONS WINDOW PERIOD */
#include "check.h"

#define BLOCK 10
#define WINDOW_MAX 64

static int *in[WINDOW_MAX], *out[WINDOW_MAX];
static MPI_Request requests[WINDOW_MAX];

static void start(int slot) {
    MPI_Ireduce_scatter_block(in[slot], out[slot], BLOCK, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[slot]);
}

int main(int argc, char **argv) {
    int started = 0, ended = 0;
    begin(&argc, &argv);
    int operations = atoi(argv[1]), window = atoi(argv[2]), period = atoi(argv[3]);
    CHECK(argc == 4 && window <= WINDOW_MAX && window <= operations);
    for (; started < window; started++) {
        in[started] = malloc(sizeof(int) * BLOCK * size);
        out[started] = malloc(sizeof(int) * BLOCK);
        for (int i = 0; i < BLOCK * size; i++)
            in[started][i] = i;
        start(started);
    }
    for (int turn = 0; ended < operations; turn++) {
        int slots[WINDOW_MAX], found = 0;
        if (turn % period == period - 1) {
            for (int slot = 0; slot < window; slot++)
                if (requests[slot] != MPI_REQUEST_NULL)
                    slots[found++] = slot;
            MPI_Waitall(window, requests, MPI_STATUSES_IGNORE);
        } else {
            MPI_Waitsome(window, requests, &found, slots, MPI_STATUSES_IGNORE);
        }
        for (int k = 0; k < found; k++, ended++) {
            for (int i = 0; i < BLOCK; i++)
                SAME(out[slots[k]][i], size * (rank * BLOCK + i));
            if (started < operations) {
                start(slots[k]);
                started++;
            }
        }
    }
    return conclude();
}
