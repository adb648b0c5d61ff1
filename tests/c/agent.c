/* With an agent a collective goes on, and ends, while the program computes: no rank calls MPI until
 * the result is there. Without one (an argument says so) rank 0, which calls first, cannot have it:
 * nothing moves its rounds on. Ranks tell each other how far they are through shared memory, since
 * every call of MPI would move the collective. */
#include "check.h"
#include <sched.h>
#include <stdatomic.h>

enum { COUNT = 5000 };

/* In the memory of rank 0, over all rounds: how often ranks have begun a collective, and rank 0 has looked. */
struct steps {
    atomic_int begun, looked;
};

static void wait_until(atomic_int *step, int value)
{
    while (atomic_load(step) < value) sched_yield();
}

int main(int argc, char **argv)
{
    static long values[COUNT], sums[COUNT];
    int with_agent = argc < 2;
    begin(&argc, &argv);

    struct steps *steps;
    MPI_Win window;
    MPI_Aint bytes = rank == 0 ? sizeof *steps : 0;
    int unit;
    MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &steps, &window);
    MPI_Win_shared_query(window, 0, &bytes, &unit, &steps);
    if (rank == 0) steps->begun = steps->looked = 0;

    for (int round = 0; round < 20; round++) {
        MPI_Request request;
        volatile long *last = &sums[COUNT - 1];
        long expected = (long)size * (COUNT - 1 + round) + size * (size - 1) / 2;
        for (int i = 0; i < COUNT; i++) values[i] = rank + i + round, sums[i] = -1;
        MPI_Barrier(MPI_COMM_WORLD);

        if (!with_agent && rank > 0) wait_until(&steps->begun, round * size + 1);
        MPI_Iallreduce(values, sums, COUNT, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, &request);
        atomic_fetch_add(&steps->begun, 1);
        if (with_agent) {
            /* Ends when the agent has done its work; the test's own limit is for when it never does. */
            while (*last != expected) sched_yield();
        } else {
            wait_until(&steps->begun, (round + 1) * size);
            if (rank == 0) {
                CHECK(*last != expected);
                atomic_fetch_add(&steps->looked, 1);
            }
            wait_until(&steps->looked, round + 1);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int i = 0; i < COUNT; i++) SAME(sums[i], (long)size * (i + round) + size * (size - 1) / 2);
    }
    MPI_Win_free(&window);
    return conclude();
}
