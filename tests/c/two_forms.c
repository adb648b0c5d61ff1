/* Variables of every kind are a rank's own, in whichever form the program runs. */
#include "check.h"

__thread int counted = 7;
static __thread long zero;
static __thread char text[64] = "text of ";
int global = 40;

__attribute__((noinline)) int *address_of_counted(void) { return &counted; }

__attribute__((noinline)) static int calls(void)
{
    static __thread int made;
    return ++made;
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    CHECK(counted == 7 && zero == 0 && global == 40 && calls() == 1);
    for (int round = 0; round < 100; round++) {
        counted += rank;
        zero -= rank;
        global++;
        text[8] = (char)('a' + rank);
        MPI_Barrier(MPI_COMM_WORLD); /* others have written theirs */
        SAME(*address_of_counted(), 7 + rank * (round + 1));
        SAME(zero, -rank * (round + 1));
        SAME(global, 41 + round);
        SAME(calls(), round + 2);
        SAME(text[8], 'a' + rank);
    }
    int sum;
    MPI_Allreduce(&counted, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    SAME(sum, 7 * size + 100 * size * (size - 1) / 2);
    return conclude();
}
