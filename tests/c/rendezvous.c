/* Messages from rank 0 to rank 1 of a simulated system, each at its own millisecond of virtual time, so that it is known who comes first.
 *
 * usage: rendezvous sender|receiver|both MESSAGES BYTES [CAPACITY]
 *
 * Whoever is not named comes a tenth of a millisecond later. With a CAPACITY below BYTES the receive is too short, and must say so. */
#include "check.h"
#include <corelace.h>

static const double MILLISECOND = 1e-3, CYCLES_PER_SECOND = 1e9;

static void wait_until(double time)
{
    double left = time - MPI_Wtime();
    CHECK(left > 0);
    MPIX_Compute((MPI_Count)(left * CYCLES_PER_SECOND));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    const char *first = argv[1];
    int messages = atoi(argv[2]), bytes = atoi(argv[3]), capacity = argc > 4 ? atoi(argv[4]) : bytes;
    unsigned char *data = malloc((size_t)(bytes > capacity ? bytes : capacity));
    double late = strcmp(first, "both") == 0 || strcmp(first, rank == 0 ? "sender" : "receiver") == 0 ? 0 : 0.1;
    if (capacity < bytes) MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 1; i <= messages; i++) {
        wait_until((i + late) * MILLISECOND);
        memset(data, rank == 0 ? i : 0, (size_t)(rank == 0 ? bytes : capacity));
        if (rank == 0) {
            MPI_Send(data, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
            continue;
        }
        MPI_Status status;
        int error = MPI_Recv(data, capacity, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &status), class, count;
        MPI_Error_class(error, &class);
        CHECK(class == (capacity < bytes ? MPI_ERR_TRUNCATE : MPI_SUCCESS));
        if (error != MPI_SUCCESS) continue;
        MPI_Get_count(&status, MPI_BYTE, &count);
        CHECK(count == bytes && data[0] == i && data[bytes - 1] == i);
    }
    free(data);
    return conclude();
}
