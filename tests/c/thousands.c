/* A job of very many ranks: each says hello, and all of them add up. An argument asks one rank to do something besides: to crash, to run over its
 * stack, to end early, to print by other means, or to wait for ever. "quietly" as the only one asks for no hello, which takes memory. */
#include "check.h"

#include <unistd.h>

/* What the system says of this process's memory, in KiB. */
static long memory(const char *path, const char *form)
{
    char line[256];
    long kibibytes = -1;
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) sscanf(line, form, &kibibytes);
    if (file) fclose(file);
    return kibibytes;
}

/* The most that it ever had, each page counted as often as it is mapped; and what it has, each page counted once. */
static long peak(void) { return memory("/proc/self/status", "VmHWM: %ld"); }
static long used(void) { return memory("/proc/self/smaps_rollup", "Pss: %ld"); }

__attribute__((noinline)) static int fall(int depth)
{
    volatile char frame[1000];
    frame[0] = (char)depth;
    return depth < 0 ? 0 : fall(depth + 1) + frame[0];
}

__attribute__((noinline)) static void do_besides(const char *what)
{
    int nothing, *nowhere = NULL;
    if (!strcmp(what, "crash")) *(volatile int *)nowhere = 1;
    if (!strcmp(what, "overflow")) SAME(fall(1), 0);
    if (!strcmp(what, "exit")) exit(3);
    if (!strcmp(what, "wait")) MPI_Recv(&nothing, 1, MPI_INT, rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!strcmp(what, "print")) {
        dprintf(1, "by dprintf\n");
        CHECK(write(2, "by write\n", 9) == 9);
        fprintf(stderr, "by stderr\n");
        fflush(stdout);
        CHECK(system("echo by a child") == 0);
    }
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    long mine = rank, sum = -1;
    if (argc != 2 || strcmp(argv[1], "quietly")) printf("hello of %d\n", rank);
    if (argc > 2 && rank == atoi(argv[2])) do_besides(argv[1]);
    MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    SAME(sum, (long)size * (size - 1) / 2);
    /* Not `conclude`: it has every rank send to the first, one by one. */
    int all = -1;
    MPI_Reduce(&failures, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) printf("peak %ld used %ld\n", peak(), used());
    MPI_Finalize();
    if (rank == 0 && all == 0) puts("no errors");
    return failures > 0;
}
