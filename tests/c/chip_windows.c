/* One-sided on a chip, in virtual time: nobody's code is needed at a target, a rank that waits for a lock asks seldom, transfers take about what messages do, and
 * memory that a cluster does not have is refused. Ranks 0 and 1 are in different clusters. */
#include "check.h"

#include <corelace.h>

enum { BYTES = 64 << 10, WORK = 40 * 1000 * 1000, ROUNDS = 4 };

static char *memory, block[BYTES];
static MPI_Win win;

/* A target computes all the while. */
static void passive(void)
{
    long one = 1, was = -1;
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime(), work;
    MPIX_Compute(rank == 1 ? WORK : 0);
    work = MPI_Wtime() - start;
    MPI_Bcast(&work, 1, MPI_DOUBLE, 1, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    if (rank == 1) MPIX_Compute(WORK);
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
        fill((unsigned char *)block, BYTES, 0, 1);
        SAME(MPI_Put(block, BYTES, MPI_BYTE, 1, 0, BYTES, MPI_BYTE, win), MPI_SUCCESS);
        memset(block, 0, BYTES);
        SAME(MPI_Get(block, BYTES, MPI_BYTE, 1, 0, BYTES, MPI_BYTE, win), MPI_SUCCESS);
        SAME(differs((unsigned char *)block, BYTES, 0, 1), -1);
        memset(block, 0, 8);
        MPI_Put(block, 8, MPI_BYTE, 1, 0, 8, MPI_BYTE, win);
        SAME(MPI_Fetch_and_op(&one, &was, MPI_LONG, 1, 0, MPI_SUM, win), MPI_SUCCESS);
        SAME(was, 0);
        MPI_Win_unlock(1, win);
        CHECK(MPI_Wtime() - start < work / 2);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) SAME(*(long *)memory, 1);
}

/* All want a lock that one of them holds for long; each adds one under it. */
static void patience(void)
{
    long now;
    if (rank == 1) *(long *)memory = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
    MPI_Get(&now, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win);
    if (now == 0) MPIX_Compute(WORK);
    now++;
    MPI_Put(&now, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win);
    MPI_Win_unlock(1, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) SAME(*(long *)memory, size);
}

/* The time of a message, from before its send until after its receive: half of a round trip. */
static double message(int bytes)
{
    double start = MPI_Wtime();
    for (int i = 0; i < ROUNDS; i++) {
        if (rank == 0) {
            MPI_Send(block, bytes, MPI_BYTE, 1, 5, MPI_COMM_WORLD);
            MPI_Recv(block, bytes, MPI_BYTE, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (rank == 1) {
            MPI_Recv(block, bytes, MPI_BYTE, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(block, bytes, MPI_BYTE, 0, 5, MPI_COMM_WORLD);
        }
    }
    return (MPI_Wtime() - start) / (2 * ROUNDS);
}

static void times(void)
{
    double large = message(BYTES), small = message(8);
    if (rank == 0) {
        double put, get, add;
        long one = 1, was;
        MPI_Win_lock_all(0, win);
        put = MPI_Wtime();
        MPI_Put(block, BYTES, MPI_BYTE, 1, 0, BYTES, MPI_BYTE, win);
        MPI_Win_flush(1, win);
        put = MPI_Wtime() - put;
        get = MPI_Wtime();
        MPI_Get(block, BYTES, MPI_BYTE, 1, 0, BYTES, MPI_BYTE, win);
        MPI_Win_flush(1, win);
        get = MPI_Wtime() - get;
        add = MPI_Wtime();
        MPI_Fetch_and_op(&one, &was, MPI_LONG, 1, 0, MPI_SUM, win);
        MPI_Win_flush(1, win);
        add = MPI_Wtime() - add;
        MPI_Win_unlock_all(win);
        /* A put needs no word of its receiver, a get the one that asks for it, an atomic one there and one back. */
        if (!(put <= large && put > large / 8)) fprintf(stderr, "put %g, message %g\n", put, large), failures++;
        if (!(get <= large + 2 * small && get > large / 8)) fprintf(stderr, "get %g, message %g\n", get, large), failures++;
        if (!(add <= 2 * small && add > small / 8)) fprintf(stderr, "add %g, message %g\n", add, small), failures++;
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* One member wants more than there is: all are told, and what they had booked is free again. */
static void too_much(void)
{
    int class;
    char *base;
    MPI_Win large = MPI_WIN_NULL;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < 50; i++) {
        MPI_Aint much = i % 2 ? (MPI_Aint)8 << 20 : (MPI_Aint)1 << 62;
        int code = MPI_Win_allocate(rank == 1 ? much : BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &large);
        MPI_Error_class(code, &class);
        SAME(class, MPI_ERR_NO_MEM);
        CHECK(large == MPI_WIN_NULL);
    }
    SAME(MPI_Win_allocate(BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &large), MPI_SUCCESS);
    MPI_Win_free(&large);
    int code = MPI_Win_allocate_shared(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &large);
    MPI_Error_class(code, &class);
    SAME(class, MPI_ERR_RMA_SHARED); /* they are in several clusters */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Win_allocate(BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    passive();
    patience();
    times();
    MPI_Win_free(&win);
    too_much();
    return conclude();
}
