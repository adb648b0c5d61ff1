/* Memory of messages that come before their receives is kept for the next ones, also when shorter ones came before: a burst of them takes no page anew. Of rank 1, from rank 0; others look on. */
#include "check.h"
#include <sys/resource.h>

enum { IN_FLIGHT = 64, BURSTS = 100, LONGEST = 4096 };

static char data[IN_FLIGHT][LONGEST];

/* Messages all of which are there before their receives. */
static void burst(int bytes)
{
    MPI_Request pending[IN_FLIGHT];
    if (rank == 1) MPI_Recv(NULL, 0, MPI_CHAR, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int k = 0; k < IN_FLIGHT && rank < 2; k++)
        if (rank == 0)
            MPI_Isend(data[k], bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &pending[k]);
        else
            MPI_Irecv(data[k], bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &pending[k]);
    if (rank == 0) MPI_Send(NULL, 0, MPI_CHAR, 1, 2, MPI_COMM_WORLD);
    if (rank < 2) MPI_Waitall(IN_FLIGHT, pending, MPI_STATUSES_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

static long pages(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    for (int i = 0; i < BURSTS; i++) burst(300);
    /* The first ones of another length make their memory. */
    for (int i = 0; i < 3; i++) burst(LONGEST);
    long before = pages();
    for (int i = 0; i < BURSTS; i++) burst(LONGEST);
    CHECK(pages() - before < BURSTS / 2);
    return conclude();
}
