/* Communicators that come and go, with a little traffic on each; the first rank tells by how much its process grows from a quarter on, if it is asked for a number of rounds. */
#include "check.h"

static long resident(void)
{
    char line[256];
    long kibibytes = -1;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file)) sscanf(line, "VmRSS: %ld", &kibibytes);
    if (file) fclose(file);
    return kibibytes;
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    int rounds = argc > 1 ? atoi(argv[1]) : 1000;
    int warm = rounds / 4; /* what is remembered of the last few thousand has its full size then */
    long before = 0;
    for (int round = 0; round < rounds; round++) {
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        if (round % 4 == 1) {
            int mine = rank, sum = -1;
            MPI_Request request;
            MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            SAME(sum, size * (size - 1) / 2);
        }
        if (round % 4 == 2) {
            int out = round, in = -1;
            MPI_Sendrecv(&out, 1, MPI_INT, (rank + 1) % size, 3, &in, 1, MPI_INT, (rank + size - 1) % size, 3, comm,
                         MPI_STATUS_IGNORE);
            SAME(in, round);
        }
        if (round % 4 == 3) MPI_Barrier(comm);
        MPI_Comm_free(&comm);
        if (round == warm) before = resident();
    }
    if (rank == 0 && argc > 1) printf("grown by %ld KiB\n", resident() - before);
    return conclude();
}
