/* A collective that is prepared once:   allreduce-init   MPI_Start and MPI_Wait, from the first rank's begin to the last one's end, for each of many in a row */
#include "measure.h"

enum { LARGEST = 512 << 10 };

static MPI_Request request;

static double starts(int size, int times)
{
    (void)size;
    double begin = begin_together();
    for (int i = 0; i < times; i++) {
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    return end_together(begin) / times;
}

int main(int argc, char **argv)
{
    static const int sizes[] = {8, LARGEST}, times[] = {1000, 50};
    MPI_Init(&argc, &argv);
    get_ready(argc, argv);
    double *from = calloc(1, LARGEST), *into = calloc(1, LARGEST);
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int count = sizes[i] / (int)sizeof(double);
        MPI_Allreduce_init(from, into, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        int affordable_times = affordable(starts, sizes[i], repetitions(times[i]));
        figure("allreduce-init", sizes[i], best_of(starts, sizes[i], affordable_times) * 1e6, "us");
        MPI_Request_free(&request);
    }
    free(from);
    free(into);
    MPI_Finalize();
    return 0;
}
