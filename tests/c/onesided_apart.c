/* One-sided: what only looks like a conflict. Bytes that interleave, accumulates that meet, and operations that something has put in order. Run by checks, which say
   nothing. */
#include "check.h"

enum { COLUMNS = 64, ROWS = 16 };

/* Every rank writes a column of rank 0's matrix, and each its own row of every other one. */
static void interleaved(MPI_Win win, long *memory)
{
    long data[COLUMNS];
    MPI_Datatype column;
    MPI_Type_vector(ROWS, 1, COLUMNS, MPI_LONG, &column);
    MPI_Type_commit(&column);
    for (int i = 0; i < COLUMNS; i++) data[i] = rank;
    MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
    MPI_Put(data, ROWS, MPI_LONG, 0, rank, 1, column, win);
    for (int to = 1; to < size; to++) MPI_Put(data, size, MPI_LONG, to, rank * COLUMNS, size, MPI_LONG, win);
    MPI_Win_fence(MPI_MODE_NOSTORE, win);
    for (int row = 0; row < size; row++)
        for (int at = 0; at < size; at++) SAME(memory[row * COLUMNS + at], rank ? row : at);
    MPI_Win_fence(MPI_MODE_NOSTORE | MPI_MODE_NOPUT, win);
    MPI_Get(data, ROWS, MPI_LONG, 0, 0, 1, column, win);
    MPI_Get(data + ROWS, ROWS, MPI_LONG, 0, 0, 1, column, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED | MPI_MODE_NOSTORE, win);
    MPI_Type_free(&column);
}

/* The same place, over and over: by one operation, with looks at it, and with swaps. */
static void counted(MPI_Win win)
{
    long one = 1, was, none = -1;
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < 200; i++) {
        MPI_Accumulate(&one, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, win);
        MPI_Fetch_and_op(&one, &was, MPI_LONG, 0, 0, MPI_SUM, win);
        MPI_Win_flush(0, win);
        MPI_Fetch_and_op(NULL, &was, MPI_LONG, 0, 0, MPI_NO_OP, win);
        MPI_Win_flush_local(0, win);
        MPI_Compare_and_swap(&one, &none, &was, MPI_LONG, 0, 0, win);
        MPI_Win_flush_all(win);
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Puts to the same place: after a flush, after a lock, after a message, after the end of a request that read. */
static void ordered(MPI_Win win)
{
    long value = rank, back;
    int token = 0;
    MPI_Request request;
    for (int i = 0; i < 50; i++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Get(&back, 1, MPI_LONG, 0, 1, 1, MPI_LONG, win);
        MPI_Win_flush(0, win);
        MPI_Put(&value, 1, MPI_LONG, 0, 1, 1, MPI_LONG, win);
        MPI_Win_unlock(0, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    for (int i = 0; i < 20; i++) {
        if (rank || i) MPI_Recv(&token, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Put(&value, 1, MPI_LONG, 0, 2, 1, MPI_LONG, win);
        MPI_Win_flush(0, win);
        MPI_Rget(&back, 1, MPI_LONG, 0, 2, 1, MPI_LONG, win, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        SAME(back, rank);
        MPI_Put(&value, 1, MPI_LONG, 0, 2, 1, MPI_LONG, win);
        MPI_Win_flush_local(0, win);
        value = rank; /* the origin's again */
        MPI_Win_flush(0, win);
        if (rank < size - 1 || i < 19) MPI_Ssend(&token, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD);
    }
    MPI_Rput(&value, 1, MPI_LONG, rank, 3, 1, MPI_LONG, win, &request);
    MPI_Win_unlock_all(win);
    value = 77; /* complete by the unlock, whatever becomes of the request */
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Epochs of groups, one after the other at the same place, and two origins beside each other in one. */
static void grouped(MPI_Win win)
{
    long value = rank;
    int zero = 0;
    MPI_Group all, target, origins;
    MPI_Win_get_group(win, &all);
    MPI_Group_incl(all, 1, &zero, &target);
    MPI_Group_excl(all, 1, &zero, &origins);
    for (int i = 0; i < 10; i++) {
        if (rank == 0) {
            MPI_Win_post(origins, 0, win);
            MPI_Win_wait(win);
        } else {
            MPI_Win_start(target, 0, win);
            MPI_Put(&value, 1, MPI_LONG, 0, 10 + rank, 1, MPI_LONG, win);
            MPI_Accumulate(&value, 1, MPI_LONG, 0, 5, 1, MPI_LONG, MPI_MAX, win);
            MPI_Win_complete(win);
        }
    }
    MPI_Group_free(&all);
    MPI_Group_free(&target);
    MPI_Group_free(&origins);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    for (int allocated = 0; allocated < 2; allocated++) {
        long *memory;
        MPI_Win win;
        size_t bytes = ROWS * COLUMNS * sizeof(long);
        if (allocated) {
            MPI_Win_allocate(bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
        } else {
            memory = malloc(bytes);
            MPI_Win_create(memory, bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        }
        memset(memory, 0, bytes);
        MPI_Barrier(MPI_COMM_WORLD);
        interleaved(win, memory);
        counted(win);
        ordered(win);
        if (size > 1) grouped(win);
        MPI_Win_free(&win);
        if (!allocated) free(memory);
    }
    return conclude();
}
