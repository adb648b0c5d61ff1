/* Collective accesses to a file ask the system for no more than their data: the reads of this
 * process, as the kernel counts them, are fewer than the calls. */
#include "files.h"

enum { CALLS = 300 };

/* Calls of read() and its kin by this process until now. */
static long reads(void)
{
    char line[256];
    long count = -1;
    FILE *io = fopen("/proc/self/io", "r");
    CHECK(io != NULL);
    while (io && fgets(line, sizeof line, io)) sscanf(line, "syscr: %ld", &count);
    if (io) fclose(io);
    CHECK(count >= 0);
    return count;
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    name_file("reads");
    MPI_File fh = fresh(MPI_MODE_RDWR);
    int x = rank;
    /* The first one may look around. */
    MPI_File_write_at_all(fh, rank * sizeof x, &x, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    long before = reads();
    for (int i = 0; i < CALLS; i++)
        SAME(MPI_File_write_at_all(fh, ((long)i * size + rank) * sizeof x, &x, 1, MPI_INT, MPI_STATUS_IGNORE),
             MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    long during = reads() - before;
    if (during >= CALLS) fprintf(stderr, "%ld reads during %d collective writes\n", during, CALLS);
    CHECK(during < CALLS);
    MPI_File_close(&fh);
    return conclude();
}
