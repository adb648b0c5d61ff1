/* One-sided: an origin gets everything done at a target that does nothing for it. Ranks 0 and 1; the target
 *   computes: it goes on when the origin's last put is there, and calls nothing before,
 *   sleeps:   it waits in the system for a byte that the origin writes to a pipe, the second argument, after everything else,
 *   stopped:  it is stopped, as by a debugger, until the origin has done everything (processes only).
 * Nothing is timed: if the origin waited for the target, both would wait for ever. */
#include "check.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

/* LONG_ROW is one of which a target does a part if it is there. */
enum { LONG_ROW = 9000, LONGS = 4000 + LONG_ROW, DONE = LONGS - 1 };

/* Every kind of passive call, once with each kind of lock. */
static void reach(MPI_Win win)
{
    long five = 5, one = 1, seven = 7, was = -1, row[LONG_ROW];
    for (int i = 0; i < LONG_ROW; i++) row[i] = i;
    MPI_Win_lock_all(0, win);
    MPI_Put(&five, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win);
    MPI_Win_flush(1, win);
    MPI_Fetch_and_op(&one, &was, MPI_LONG, 1, 0, MPI_SUM, win);
    MPI_Win_flush(1, win);
    SAME(was, 5);
    MPI_Compare_and_swap(&seven, &five, &was, MPI_LONG, 1, 0, win); /* it is 6 by now */
    MPI_Win_flush(1, win);
    SAME(was, 6);
    MPI_Accumulate(row, 1000, MPI_LONG, 1, 1, 1000, MPI_LONG, MPI_SUM, win);
    MPI_Put(row, 1000, MPI_LONG, 1, 2000, 1000, MPI_LONG, win);
    MPI_Win_flush_all(win);
    MPI_Get(&was, 1, MPI_LONG, 1, 1000, 1, MPI_LONG, win);
    MPI_Win_flush(1, win);
    SAME(was, 999);
    MPI_Accumulate(row, LONG_ROW, MPI_LONG, 1, 3500, LONG_ROW, MPI_LONG, MPI_SUM, win);
    MPI_Win_flush(1, win);
    for (int at = 0; at < LONG_ROW; at += LONG_ROW - 1) {
        MPI_Get(&was, 1, MPI_LONG, 1, 3500 + at, 1, MPI_LONG, win);
        MPI_Win_flush(1, win);
        SAME(was, at);
    }
    MPI_Win_unlock_all(win);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
    MPI_Get(&was, 1, MPI_LONG, 1, 2999, 1, MPI_LONG, win);
    MPI_Win_flush(1, win);
    SAME(was, 999);
    MPI_Win_unlock(1, win);
    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
    MPI_Put(&one, 1, MPI_LONG, 1, DONE, 1, MPI_LONG, win);
    MPI_Win_unlock(1, win);
}

static void computes(MPI_Win win, volatile long *mine)
{
    volatile double work = 1;
    if (rank == 0) reach(win);
    if (rank == 1)
        while (!mine[DONE]) work = work * 1.0000001;
}

static void sleeps(MPI_Win win, const char *name)
{
    char byte = 0;
    if (rank == 0) {
        CHECK(mkfifo(name, 0600) == 0);
        MPI_Send(NULL, 0, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
        reach(win);
        int pipe = open(name, O_WRONLY);
        CHECK(pipe >= 0 && write(pipe, &byte, 1) == 1);
        close(pipe);
    } else if (rank == 1) {
        MPI_Recv(NULL, 0, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        int pipe = open(name, O_RDONLY);
        CHECK(pipe >= 0 && read(pipe, &byte, 1) == 1);
        close(pipe);
        unlink(name);
    }
}

/* The letter that the system has for what a process does: T if it is stopped. */
static char state_of(int pid)
{
    char path[64], state = '?';
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *stat = fopen(path, "r");
    if (!stat || fscanf(stat, "%*d (%*[^)]) %c", &state) != 1) state = '?';
    if (stat) fclose(stat);
    return state;
}

static void stopped(MPI_Win win)
{
    int pid = getpid();
    if (rank == 0) {
        MPI_Recv(&pid, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(kill(pid, SIGSTOP) == 0);
        char state;
        while ((state = state_of(pid)) != 'T' && state != '?') {}
        reach(win);
        SAME(state_of(pid), 'T');
        CHECK(kill(pid, SIGCONT) == 0);
    } else if (rank == 1) {
        MPI_Send(&pid, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    for (int allocated = 0; allocated < 2; allocated++) {
        long *mine;
        MPI_Win win;
        if (allocated) {
            MPI_Win_allocate(LONGS * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
            memset(mine, 0, LONGS * sizeof(long));
        } else {
            mine = calloc(LONGS, sizeof(long));
            MPI_Win_create(mine, LONGS * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        if (!strcmp(argv[1], "computes")) computes(win, mine);
        if (!strcmp(argv[1], "sleeps")) sleeps(win, argv[2]);
        if (!strcmp(argv[1], "stopped")) stopped(win);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_sync(win);
        if (rank == 1) {
            SAME(mine[0], 6);
            SAME(mine[DONE], 1);
            for (int i = 0; i < 1000; i++) SAME(mine[1 + i] + mine[2000 + i], 2 * i);
        }
        MPI_Win_free(&win);
        if (!allocated) free(mine);
    }
    return conclude();
}
