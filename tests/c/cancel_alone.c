/* After MPI_Cancel a wait is local (section 3.8.4): rank 0 cancels operations of every kind and waits for them, while rank 1 waits
 * for a byte from a named pipe, outside of the library, which rank 0 writes when it is done. */
#define _XOPEN_SOURCE 700
#include "check.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LONG = 1 << 20, FLOOD = 2000, PATIENCE_MS = 30000 };

static const int sizes[] = {0, 64, 5000, LONG};
enum { SIZES = sizeof sizes / sizeof *sizes };

static char *buffer, *guard;

/* Waits after a cancel; 1 if it succeeded. */
static int cancelled(MPI_Request *request)
{
    MPI_Status status;
    int flag = -1;
    MPI_Cancel(request);
    MPI_Wait(request, &status);
    CHECK(*request == MPI_REQUEST_NULL);
    MPI_Test_cancelled(&status, &flag);
    return flag;
}

/* What rank 1 is told afterwards: how many messages with which tag do come. */
struct told {
    int standard[SIZES], flood;
};

static void cancel_everything(struct told *told)
{
    MPI_Request request;
    for (int i = 0; i < SIZES; i++) {
        MPI_Irecv(buffer, sizes[i], MPI_BYTE, 1, 10, MPI_COMM_WORLD, &request);
        SAME(cancelled(&request), 1);
        MPI_Irecv(buffer, sizes[i], MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
        SAME(cancelled(&request), 1);
        MPI_Issend(buffer, sizes[i], MPI_BYTE, 1, 11, MPI_COMM_WORLD, &request);
        SAME(cancelled(&request), 1);
        MPI_Isend(buffer, sizes[i], MPI_BYTE, 1, 20 + i, MPI_COMM_WORLD, &request);
        told->standard[i] = !cancelled(&request);

        MPI_Request persistent;
        MPI_Recv_init(buffer, sizes[i], MPI_BYTE, 1, 12, MPI_COMM_WORLD, &persistent);
        for (int turn = 0; turn < 2; turn++) {
            MPI_Status status;
            int flag = 0;
            MPI_Start(&persistent);
            MPI_Cancel(&persistent);
            MPI_Wait(&persistent, &status);
            MPI_Test_cancelled(&status, &flag);
            SAME(flag, 1);
        }
        MPI_Request_free(&persistent);
    }
    /* More than any mailbox holds. */
    static MPI_Request flood[FLOOD];
    static int numbers[FLOOD];
    for (int i = 0; i < FLOOD; i++) {
        numbers[i] = i;
        MPI_Isend(&numbers[i], 1, MPI_INT, 1, 30, MPI_COMM_WORLD, &flood[i]);
    }
    for (int i = 0; i < FLOOD; i++) {
        told->flood += !cancelled(&flood[i]);
        numbers[i] = -1;
    }
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    buffer = malloc(LONG);
    guard = malloc(LONG);
    memset(buffer, 7, LONG);
    memset(guard, 7, LONG);
    struct told told = {{0}, 0};
    int pipe = -1;
    if (argc < 2) {
        fprintf(stderr, "usage: cancel_alone PIPE\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (rank == 1) {
        CHECK(mkfifo(argv[1], 0600) == 0);
        pipe = open(argv[1], O_RDONLY | O_NONBLOCK);
        CHECK(pipe >= 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        cancel_everything(&told);
        pipe = open(argv[1], O_WRONLY);
        CHECK(write(pipe, "x", 1) == 1);
        CHECK(memcmp(buffer, guard, LONG) == 0);
        MPI_Send(&told, sizeof told, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
        /* Goes past everything that was cancelled. */
        for (int i = 0; i < SIZES; i++) {
            MPI_Send(buffer, sizes[i], MPI_BYTE, 1, 11, MPI_COMM_WORLD);
            MPI_Recv(buffer, sizes[i], MPI_BYTE, 1, 10, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        for (int i = 0; i < sizes[SIZES - 1]; i++) CHECK(buffer[i] == 8);
    } else if (rank == 1) {
        struct pollfd until = {pipe, POLLIN, 0};
        SAME(poll(&until, 1, PATIENCE_MS), 1); /* else rank 0 waits for this one */
        MPI_Status status;
        int flag, count = 0;
        MPI_Recv(&told, sizeof told, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &status);
        MPI_Iprobe(0, 11, MPI_COMM_WORLD, &flag, &status);
        if (flag) MPI_Get_count(&status, MPI_BYTE, &count);
        SAME(count, sizes[0]); /* the first that was not cancelled */
        for (int i = 0; i < SIZES; i++) {
            count = -1;
            MPI_Recv(buffer, LONG, MPI_BYTE, 0, 11, MPI_COMM_WORLD, &status);
            MPI_Get_count(&status, MPI_BYTE, &count);
            SAME(count, sizes[i]);
            memset(guard, 8, sizes[i]);
            MPI_Send(guard, sizes[i], MPI_BYTE, 0, 10, MPI_COMM_WORLD);
            if (told.standard[i]) {
                MPI_Recv(buffer, LONG, MPI_BYTE, 0, 20 + i, MPI_COMM_WORLD, &status);
                MPI_Get_count(&status, MPI_BYTE, &count);
                SAME(count, sizes[i]);
            }
        }
        for (int i = 0; i < told.flood; i++) {
            int number = -2;
            MPI_Recv(&number, 1, MPI_INT, 0, 30, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            SAME(number, i);
        }
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status);
        SAME(flag, 0);
    }
    if (pipe >= 0) close(pipe);
    free(buffer);
    free(guard);
    return conclude();
}
