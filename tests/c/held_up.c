/* Rank 0 sends to rank 1 more than there is room for, and then to rank 2. Rank 1 waits outside of the library, for a byte of a named
 * pipe that rank 2 writes when it has its messages: they must not wait for room that only rank 1 can make. */
#define _XOPEN_SOURCE 700
#include "check.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MANY = 200, LONG = 100000, PATIENCE_MS = 30000 };

static const int sizes[] = {3000, 4096, 8, 0, LONG};
enum { SIZES = sizeof sizes / sizeof *sizes, SCATTERED = 0 };

static unsigned char buffer[LONG], spread[2 * LONG];
static MPI_Datatype every_other;

static void start(int tag, int to, MPI_Request *request)
{
    if (tag == SCATTERED)
        MPI_Isend(spread, 1, every_other, to, tag, MPI_COMM_WORLD, request);
    else
        MPI_Isend(buffer, sizes[tag], MPI_BYTE, to, tag, MPI_COMM_WORLD, request);
}

static void receive(int tag, int bytes)
{
    int count = -1;
    MPI_Status status;
    memset(buffer, 0, sizeof buffer);
    MPI_Recv(buffer, LONG, MPI_BYTE, 0, tag, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_BYTE, &count);
    SAME(count, bytes);
    SAME(differs(buffer, bytes, 0, 1), -1);
}

int main(int argc, char **argv)
{
    static MPI_Request requests[SIZES][MANY];
    int pipe = -1;
    begin(&argc, &argv);
    if (argc != 2 || size != 3) {
        fprintf(stderr, "usage: held_up PIPE, on three ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (rank == 1) {
        CHECK(mkfifo(argv[1], 0600) == 0);
        pipe = open(argv[1], O_RDONLY | O_NONBLOCK);
        CHECK(pipe >= 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        fill(buffer, LONG, 0, 1);
        for (int i = 0; i < LONG; i++) spread[2 * i] = buffer[i];
        MPI_Type_vector(sizes[SCATTERED], 1, 2, MPI_BYTE, &every_other);
        MPI_Type_commit(&every_other);
        for (int i = 0; i < SIZES; i++)
            for (int k = 0; k < MANY; k++)
                start(i, 1, &requests[i][k]);
        for (int i = 0; i < SIZES; i++) {
            MPI_Request last;
            start(i, 2, &last);
            MPI_Wait(&last, MPI_STATUS_IGNORE);
        }
        MPI_Waitall(SIZES * MANY, requests[0], MPI_STATUSES_IGNORE);
        MPI_Type_free(&every_other);
    } else if (rank == 1) {
        struct pollfd until = {pipe, POLLIN, 0};
        SAME(poll(&until, 1, PATIENCE_MS), 1); /* else rank 2 waits for this one */
        for (int k = 0; k < MANY; k++)
            for (int i = 0; i < SIZES; i++) receive(i, sizes[i]);
    } else {
        for (int i = 0; i < SIZES; i++) receive(i, sizes[i]);
        pipe = open(argv[1], O_WRONLY);
        CHECK(write(pipe, "x", 1) == 1);
    }
    if (pipe >= 0) close(pipe);
    return conclude();
}
