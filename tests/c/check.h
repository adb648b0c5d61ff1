/* Checks for test programs: each says on standard error what was expected where, and the program goes on. Threads may check at once. `conclude` gathers
 * the ranks' failures and prints "no errors" if there are none. */
#ifndef CHECK_H
#define CHECK_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, failures;

/* Counts a failure: true if it is one of the first, which are told. */
static inline int count_failure(void) { return __atomic_fetch_add(&failures, 1, __ATOMIC_RELAXED) < 20; }

#define CHECK(condition)                                                                                                \
    do {                                                                                                                \
        if (!(condition) && count_failure())                                                                            \
            fprintf(stderr, "rank %d of %d, %s:%d: expected %s\n", rank, size, __FILE__, __LINE__, #condition);         \
    } while (0)

/* Of two numbers: shows the one that was found. */
#define SAME(found, expected)                                                                                           \
    do {                                                                                                                \
        long long found_ = (long long)(found), expected_ = (long long)(expected);                                       \
        if (found_ != expected_ && count_failure())                                                                     \
            fprintf(stderr, "rank %d of %d, %s:%d: %s is %lld, expected %lld\n", rank, size, __FILE__, __LINE__,        \
                    #found, found_, expected_);                                                                         \
    } while (0)

static inline void begin(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
}

static inline int conclude(void)
{
    int all = failures;
    MPI_Barrier(MPI_COMM_WORLD); /* receives that leave everything open are done */
    if (rank > 0) MPI_Send(&failures, 1, MPI_INT, 0, 32000, MPI_COMM_WORLD);
    for (int from = 1; rank == 0 && from < size; from++) {
        int others;
        MPI_Recv(&others, 1, MPI_INT, from, 32000, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        all += others;
    }
    MPI_Finalize();
    if (rank == 0 && all == 0) puts("no errors");
    return failures > 0;
}

/* A byte that depends on everything that must not be mixed up. */
static inline unsigned char pattern(int from, int message, long at)
{
    return (unsigned char)(from * 31 + message * 7 + at * 13 + (at >> 8) * 5 + 1);
}

/* In rows, in each of which a byte is 13 more than the one before. */
static inline void fill(unsigned char *buffer, long bytes, int from, int message)
{
    for (long row = 0; row < bytes; row += 256) {
        unsigned char byte = pattern(from, message, row);
        long end = row + 256 < bytes ? row + 256 : bytes;
        for (long i = row; i < end; i++, byte += 13) buffer[i] = byte;
    }
}

/* The first byte that is wrong, or -1. */
static inline long differs(const unsigned char *buffer, long bytes, int from, int message)
{
    for (long row = 0; row < bytes; row += 256) {
        unsigned char byte = pattern(from, message, row);
        long end = row + 256 < bytes ? row + 256 : bytes;
        for (long i = row; i < end; i++, byte += 13)
            if (buffer[i] != byte) return i;
    }
    return -1;
}

#endif
