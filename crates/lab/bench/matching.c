/* How the time to match a message grows with how many are pending. Each has a tag of its own, and they are taken in the reverse order, which is the worst for a list.
 *   matching-posted       from the first send to the last receive completed, when all receives are posted, for each message
 *   matching-unexpected   MPI_Recv of one of so many messages that have arrived */
#include "measure.h"

enum { MOST = 1000000, QUICK_MOST = 10000, AT_LEAST = 10000 };

static char *data;
static MPI_Request *requests;

static void all_arrived(void)
{
    /* Messages between two ranks do not overtake one another. */
    char token = 0;
    if (me == 0) MPI_Send(&token, 1, MPI_BYTE, 1, MOST, MPI_COMM_WORLD);
    if (me == 1) MPI_Recv(&token, 1, MPI_BYTE, 0, MOST, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static double posted(int pending, int times)
{
    double seconds = 0;
    for (int i = 0; i < times; i++) {
        if (me == 1)
            for (int tag = 0; tag < pending; tag++) MPI_Irecv(&data[tag], 1, MPI_BYTE, 0, tag, MPI_COMM_WORLD, &requests[tag]);
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = MPI_Wtime();
        if (me == 0)
            for (int tag = pending; tag-- > 0;) MPI_Send(&data[tag], 1, MPI_BYTE, 1, tag, MPI_COMM_WORLD);
        else
            MPI_Waitall(pending, requests, MPI_STATUSES_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
        seconds += MPI_Wtime() - begin;
    }
    return seconds / times / pending;
}

static double unexpected(int pending, int times)
{
    double mine = 0, seconds;
    for (int i = 0; i < times; i++) {
        if (me == 0)
            for (int tag = 0; tag < pending; tag++) MPI_Send(&data[tag], 1, MPI_BYTE, 1, tag, MPI_COMM_WORLD);
        all_arrived();
        double begin = MPI_Wtime();
        if (me == 1)
            for (int tag = pending; tag-- > 0;) MPI_Recv(&data[tag], 1, MPI_BYTE, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        mine += MPI_Wtime() - begin;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    mine = me == 1 ? mine : 0;
    MPI_Allreduce(&mine, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return seconds / times / pending;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    get_ready(argc, argv);
    int most = quick ? QUICK_MOST : MOST;
    data = calloc((size_t)most, 1);
    requests = malloc((size_t)most * sizeof *requests);
    for (int pending = 1; pending <= most; pending *= 10) {
        int times = pending < AT_LEAST ? repetitions(AT_LEAST / pending) : 1;
        figure_of("matching-posted", pending, "pending", best_of(posted, pending, times) * 1e6, "us");
        figure_of("matching-unexpected", pending, "pending", best_of(unexpected, pending, times) * 1e6, "us");
    }
    free(data);
    free(requests);
    MPI_Finalize();
    return 0;
}
