/* Synchronous sends that are cancelled leave packets at their receivers. Ranks that call nothing
 * but collectives take them in: memory does not grow with the number of sends. */
#include "check.h"

enum { SENDS = 60000, BETWEEN = 50, MOST_KIB = 4096 };

static long resident(void)
{
    char line[256];
    long kibibytes = -1;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file)) sscanf(line, "VmRSS: %ld", &kibibytes);
    if (file) fclose(file);
    CHECK(kibibytes >= 0);
    return kibibytes;
}

static void meet(const char *how, int round)
{
    int one = 1, all = 0, each[64];
    MPI_Request request;
    if (!strcmp(how, "barrier")) {
        MPI_Barrier(MPI_COMM_WORLD);
    } else if (!strcmp(how, "allreduce")) {
        MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        SAME(all, size);
    } else if (!strcmp(how, "bcast")) {
        all = rank == round % size ? round : -1;
        MPI_Bcast(&all, 1, MPI_INT, round % size, MPI_COMM_WORLD);
        SAME(all, round);
    } else if (!strcmp(how, "allgather")) {
        MPI_Allgather(&rank, 1, MPI_INT, each, 1, MPI_INT, MPI_COMM_WORLD);
        SAME(each[size - 1], size - 1);
    } else if (!strcmp(how, "long")) {
        static double in[4096], out[4096];
        MPI_Allreduce(in, out, 4096, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    } else {
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    const char *how = argc > 1 ? argv[1] : "barrier";
    long before = 0;
    int round = 0;
    for (int i = 0; i < SENDS; i++) {
        MPI_Request request;
        MPI_Status status;
        int cancelled = 0;
        MPI_Issend(&i, 1, MPI_INT, (rank + 1) % size, 78, MPI_COMM_WORLD, &request);
        MPI_Cancel(&request);
        MPI_Wait(&request, &status);
        MPI_Test_cancelled(&status, &cancelled);
        CHECK(cancelled);
        if (i % BETWEEN == 0) meet(how, round++);
        if (i == SENDS / 4) before = resident();
    }
    meet(how, round++);
    long grown = resident() - before;
    if (grown > MOST_KIB) fprintf(stderr, "rank %d, %s: grown by %ld KiB\n", rank, how, grown);
    CHECK(grown <= MOST_KIB);
    return conclude();
}
