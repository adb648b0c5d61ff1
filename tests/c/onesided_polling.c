/* Ranks that look at a word again and again, by calls that never wait, until the last rank has changed it: in every way that there is. */
#include "check.h"

enum { WORDS = 4 };

static int *memory;
static MPI_Win window;

/* The last rank sets a word of its own, when everybody may be looking at it. */
static void set(int word)
{
    static const int one = 1; /* for as long as the operation may need it */
    MPI_Accumulate(&one, 1, MPI_INT, size - 1, word, 1, MPI_INT, MPI_REPLACE, window);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    int last = size - 1, seen = 0, nothing = 0;
    MPI_Win_allocate(WORDS * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    memset(memory, 0, WORDS * sizeof(int));
    MPI_Barrier(MPI_COMM_WORLD);

    /* An atomic operation and a flush. */
    MPI_Win_lock_all(0, window);
    if (rank == last) set(0);
    while (!seen) {
        MPI_Fetch_and_op(&nothing, &seen, MPI_INT, last, 0, MPI_NO_OP, window);
        MPI_Win_flush(last, window);
    }
    MPI_Win_unlock_all(window);
    MPI_Barrier(MPI_COMM_WORLD);

    /* A lock for each look. */
    for (seen = 0; !seen;) {
        MPI_Win_lock(MPI_LOCK_SHARED, last, 0, window);
        if (rank == last) set(1);
        MPI_Get_accumulate(&nothing, 1, MPI_INT, &seen, 1, MPI_INT, last, 1, 1, MPI_INT, MPI_NO_OP, window);
        MPI_Win_unlock(last, window);
    }
    MPI_Barrier(MPI_COMM_WORLD);

    /* A lock of all members for each. */
    for (seen = 0; !seen;) {
        MPI_Win_lock_all(0, window);
        if (rank == last) set(2);
        MPI_Get_accumulate(&nothing, 1, MPI_INT, &seen, 1, MPI_INT, last, 2, 1, MPI_INT, MPI_NO_OP, window);
        MPI_Win_unlock_all(window);
    }
    MPI_Barrier(MPI_COMM_WORLD);

    /* Loads of the rank's own word, which the last rank sets at all of them. */
    MPI_Win_lock_all(0, window);
    static const int one = 1;
    if (rank == last)
        for (int other = 0; other < size; other++) MPI_Accumulate(&one, 1, MPI_INT, other, 3, 1, MPI_INT, MPI_REPLACE, window);
    while (!*(volatile int *)&memory[3]) MPI_Win_sync(window);
    MPI_Win_unlock_all(window);

    MPI_Win_free(&window);
    return conclude();
}
