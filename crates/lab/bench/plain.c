/* What is not MPI's, and must cost a program no more because of it: built by the same compiler wrapper, in a rank of the same kind.
 *   plain-malloc         a block that is allocated and freed
 *   plain-thread-local   a function that counts up a thread-local variable */
#include "measure.h"

enum { CALLS = 1000 };

static _Thread_local long counted;

/* Its own function, or the compiler would look the variable up once for all calls. */
__attribute__((noinline)) static void count_up(void)
{
    counted++;
    __asm__ volatile("" ::: "memory");
}

static double counting(int size, int times)
{
    (void)size;
    double begin = MPI_Wtime();
    for (int i = 0; i < times; i++)
        for (int call = 0; call < CALLS; call++) count_up();
    return (MPI_Wtime() - begin) / times / CALLS;
}

static double allocating(int size, int times)
{
    double begin = MPI_Wtime();
    for (int i = 0; i < times; i++)
        for (int call = 0; call < CALLS; call++) {
            char *block = malloc(size);
            if (!block) MPI_Abort(MPI_COMM_WORLD, 1);
            __asm__ volatile("" ::"r"(block) : "memory");
            free(block);
        }
    return (MPI_Wtime() - begin) / times / CALLS;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    get_ready(argc, argv);
    int times = repetitions(10000);
    figure("plain-malloc", 64, best_of(allocating, 64, times) * 1e9, "ns");
    figure("plain-malloc", 65536, best_of(allocating, 65536, times) * 1e9, "ns");
    figure("plain-thread-local", 8, best_of(counting, 8, times) * 1e9, "ns");
    MPI_Finalize();
    return 0;
}
