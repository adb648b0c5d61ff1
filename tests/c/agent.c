/* With an agent a collective goes on, and ends, while the program computes: nobody calls MPI until the result is there. Without one (an argument says
 * so) it does not, because its rounds wait for calls. */
#include "check.h"
#include <time.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
    static long values[5000], sums[5000];
    int with_agent = argc < 2, rounds = with_agent ? 20 : 1;
    begin(&argc, &argv);
    for (int round = 0; round < rounds; round++) {
        MPI_Request request;
        for (int i = 0; i < 5000; i++) values[i] = rank + i + round, sums[i] = -1;
        MPI_Iallreduce(values, sums, 5000, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, &request);
        volatile long *last = &sums[4999];
        long expected = (long)size * (4999 + round) + size * (size - 1) / 2;
        double patience = now() + (with_agent ? 30 : 0.2);
        while (*last != expected && now() < patience) {}
        CHECK((*last == expected) == with_agent);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int i = 0; i < 5000; i++) CHECK(sums[i] == (long)size * (i + round) + size * (size - 1) / 2);
    }
    return conclude();
}
