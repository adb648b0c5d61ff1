/* Every rank goes to one moment of its life, says its number and its process, and stays there.
 * usage: moments before-init|waiting|transfer|collectives|after-finalize */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* One write: lines of ranks that are killed are whole or not there. */
static void arrived(int rank)
{
    char line[64];
    /* Asked of the kernel: the function says, once, that ranks that are threads or fibers share the number. */
    int length = snprintf(line, sizeof line, "%d %ld\n", rank, (long)syscall(SYS_getpid));
    if (write(1, line, length) != length) _exit(99);
}

static void stay(void)
{
    for (;;) pause();
}

int main(int argc, char **argv)
{
    int rank, size;
    const char *moment = argc > 1 ? argv[1] : "";

    /* Debuggers are not ancestors here, which some systems (Yama) ask of them. */
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    if (!strcmp(moment, "before-init")) {
        const char *number = getenv("CORELACE_RANK");
        arrived(number ? atoi(number) : 0);
        stay();
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (!strcmp(moment, "waiting")) {
        char nothing;
        MPI_Barrier(MPI_COMM_WORLD);
        arrived(rank);
        if (rank == size - 1) /* computes for ever: no deadlock to report */
            for (volatile int busy = 1; busy;) {
                int flag;
                MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
                usleep(1000);
            }
        MPI_Recv(&nothing, 1, MPI_CHAR, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (!strcmp(moment, "transfer")) {
        int bytes = 16 << 20, next = (rank + 1) % size, previous = (rank + size - 1) % size;
        char *out = calloc(1, bytes), *in = calloc(1, bytes);
        for (long round = 0;; round++) {
            MPI_Sendrecv(out, bytes, MPI_CHAR, next, 2, in, bytes, MPI_CHAR, previous, 2, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
            if (round == 0) arrived(rank);
        }
    } else if (!strcmp(moment, "collectives")) {
        int bytes = 1 << 20;
        char *out = calloc(1, bytes), *in = calloc(size, bytes);
        MPI_Request requests[2];
        /* By messages at first, then in the members' memory. */
        for (long round = 0;; round++) {
            MPI_Barrier(MPI_COMM_WORLD);
            MPI_Ibcast(out, bytes, MPI_CHAR, round % size, MPI_COMM_WORLD, &requests[0]);
            MPI_Iallgather(MPI_IN_PLACE, 0, MPI_CHAR, in, bytes, MPI_CHAR, MPI_COMM_WORLD, &requests[1]);
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
            if (round == 10) arrived(rank);
        }
    } else if (!strcmp(moment, "after-finalize")) {
        MPI_Finalize();
        arrived(rank);
        stay();
    }
    fprintf(stderr, "moments: unknown moment \"%s\"\n", moment);
    return 98;
}
