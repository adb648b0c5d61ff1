/* MPI_Recv on a core that ranks share, where a rank lets the others run before its receive is put into a table: of what comes then, of what comes later or past other messages, of nobody,
 * anybody and itself, and with something else under way that must go on meanwhile. */
#include "check.h"

enum { MOST = 5000, ROUNDS = 200 };

static unsigned char out[MOST], in[MOST];

static int next, before;

/* One message from the rank before, for which there is room for one byte more. */
static void take(int bytes, int message, MPI_Comm comm)
{
    MPI_Status status;
    int count;
    memset(in, 0, bytes + 1);
    MPI_Recv(in, bytes + 1, MPI_BYTE, before, message, comm, &status);
    MPI_Get_count(&status, MPI_BYTE, &count);
    SAME(count, bytes);
    SAME(status.MPI_SOURCE, before);
    SAME(status.MPI_TAG, message);
    SAME(differs(in, bytes, before, message), -1);
    SAME(in[bytes], 0);
}

static void give(int bytes, int message, MPI_Comm comm)
{
    fill(out, bytes, rank, message);
    MPI_Send(out, bytes, MPI_BYTE, next, message, comm);
}

/* Round the ring, so that at any time all ranks but one wait. */
static void one_after_the_other(MPI_Comm comm)
{
    static const int lengths[] = {0, 1, 8, 96, 97, 500, 1024, 2047, 2048, 4999};
    for (int round = 0; round < ROUNDS; round++) {
        int bytes = lengths[round % (sizeof lengths / sizeof *lengths)];
        /* What a rank sends itself has to fit into a letter. */
        if (size == 1 && bytes > 2000) continue;
        if (rank > 0) take(bytes, round, comm);
        give(bytes, round, comm);
        if (rank == 0) take(bytes, round, comm);
    }
}

/* What is received last was sent first. */
static void past_other_messages(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        for (int message = 0; message < 4; message++) give(message * 40, message, MPI_COMM_WORLD);
        for (int message = 4; message-- > 0;) take(message * 40, message, MPI_COMM_WORLD);
    }
}

/* All others send, rank 0 takes them in an order in which they do not come. */
static void from_many(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        int got = -1, go = round;
        if (rank > 0) {
            MPI_Send(&round, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
            MPI_Recv(&got, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            SAME(got, round);
        } else {
            for (int i = 1; i < size; i++) {
                MPI_Recv(&got, 1, MPI_INT, 1 + (i + round) % (size - 1), 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                SAME(got, round);
            }
            for (int i = 1; i < size; i++) MPI_Send(&go, 1, MPI_INT, i, 4, MPI_COMM_WORLD);
        }
    }
}

/* There is nothing to wait for: nobody sends, and nobody else need run. */
static void from_nobody(void)
{
    MPI_Status status;
    int got = -5, count;
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Recv(&got, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &status);
        SAME(status.MPI_SOURCE, MPI_PROC_NULL);
        SAME(status.MPI_TAG, MPI_ANY_TAG);
        MPI_Get_count(&status, MPI_INT, &count);
        SAME(count, 0);
        MPI_Recv(NULL, 0, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Sendrecv(&round, 1, MPI_INT, MPI_PROC_NULL, 3, &got, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &status);
        SAME(status.MPI_SOURCE, MPI_PROC_NULL);
    }
    SAME(got, -5);
}

/* What the ranks of a line get at its ends, where there is no neighbour. */
static void along_a_line(void)
{
    int left = rank > 0 ? rank - 1 : MPI_PROC_NULL, right = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;
    for (int round = 0; round < ROUNDS; round++) {
        int mine = rank * ROUNDS + round, from_left = -1, from_right = -1;
        MPI_Send(&mine, 1, MPI_INT, right, 5, MPI_COMM_WORLD);
        MPI_Recv(&from_left, 1, MPI_INT, left, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Sendrecv(&mine, 1, MPI_INT, left, 6, &from_right, 1, MPI_INT, right, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        SAME(from_left, rank > 0 ? mine - ROUNDS : -1);
        SAME(from_right, rank < size - 1 ? mine + ROUNDS : -1);
    }
}

static void from_anybody_and_oneself(void)
{
    MPI_Status status;
    int got = -1;
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Send(&round, 1, MPI_INT, rank, 7, MPI_COMM_WORLD);
        MPI_Recv(&got, 1, MPI_INT, rank, 7, MPI_COMM_WORLD, &status);
        SAME(got, round);
        SAME(status.MPI_SOURCE, rank);
        MPI_Send(&round, 1, MPI_INT, next, 8, MPI_COMM_WORLD);
        MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, &status);
        SAME(got, round);
        SAME(status.MPI_SOURCE, before);
        MPI_Send(&round, 1, MPI_INT, next, 9, MPI_COMM_WORLD);
        MPI_Recv(&got, 1, MPI_INT, before, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        SAME(got, round);
        SAME(status.MPI_TAG, 9);
        MPI_Send(NULL, 0, MPI_INT, next, 10, MPI_COMM_WORLD);
        MPI_Recv(NULL, 0, MPI_INT, before, 10, MPI_COMM_WORLD, &status);
        SAME(status.MPI_SOURCE, before);
    }
}

/* What is wrong is said, and nobody is waited for. */
static void of_what_cannot_be(void)
{
    int got = 0, class, code;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    struct { int count, source, tag, class; } wrong[] = {
        {1, size, 1, MPI_ERR_RANK}, {1, -77, 1, MPI_ERR_RANK}, {-1, before, 1, MPI_ERR_COUNT}, {1, before, -77, MPI_ERR_TAG},
    };
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        code = MPI_Recv(&got, wrong[i].count, MPI_INT, wrong[i].source, wrong[i].tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Error_class(code, &class);
        SAME(class, wrong[i].class);
    }
    code = MPI_Recv(&got, 1, MPI_DATATYPE_NULL, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Error_class(code, &class);
    SAME(class, MPI_ERR_TYPE);
    /* One that is longer than its room. */
    give(8, 2, MPI_COMM_WORLD);
    code = MPI_Recv(in, 7, MPI_BYTE, before, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Error_class(code, &class);
    SAME(class, MPI_ERR_TRUNCATE);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* Every other item of a row, and both halves of the world as each other's peers. */
static void of_other_kinds(void)
{
    MPI_Datatype row;
    MPI_Type_vector(4, 1, 2, MPI_INT, &row);
    MPI_Type_commit(&row);
    for (int round = 0; round < ROUNDS; round++) {
        int from[8], to[8] = {0};
        for (int i = 0; i < 8; i++) from[i] = rank + i;
        if (rank > 0) MPI_Recv(to, 1, row, before, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(from, 1, row, next, 11, MPI_COMM_WORLD);
        if (rank == 0) MPI_Recv(to, 1, row, before, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < 8; i++) SAME(to[i], i % 2 ? 0 : before + i);
    }
    MPI_Type_free(&row);
    if (size == 1) return;
    MPI_Comm half, both;
    int mine, others, got = -1;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 12, &both);
    MPI_Comm_rank(both, &mine);
    MPI_Comm_remote_size(both, &others);
    for (int round = 0; round < ROUNDS && mine < size / 2; round++) {
        MPI_Status status;
        if (rank % 2 == 0) MPI_Send(&round, 1, MPI_INT, mine, 13, both);
        MPI_Recv(&got, 1, MPI_INT, mine, 13, both, &status);
        SAME(got, round);
        SAME(status.MPI_SOURCE, mine);
        if (rank % 2 == 1) MPI_Send(&round, 1, MPI_INT, mine, 13, both);
        MPI_Recv(&got, 1, MPI_INT, MPI_PROC_NULL, 13, both, MPI_STATUS_IGNORE);
    }
    MPI_Comm_free(&both);
    MPI_Comm_free(&half);
}

/* A collective, a receive and a long message of this rank go on while it waits for something else. */
static void with_something_under_way(void)
{
    static unsigned char long_out[300000], long_in[300000];
    for (int round = 0; round < 20; round++) {
        MPI_Request requests[4];
        int one = 1, sum = 0, other = -1, mine = rank + round;
        MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(&other, 1, MPI_INT, before, 14, MPI_COMM_WORLD, &requests[1]);
        fill(long_out, sizeof long_out, rank, round);
        MPI_Irecv(long_in, sizeof long_in, MPI_BYTE, before, 15, MPI_COMM_WORLD, &requests[2]);
        MPI_Isend(long_out, sizeof long_out, MPI_BYTE, next, 15, MPI_COMM_WORLD, &requests[3]);
        if (rank > 0) take(8, 16, MPI_COMM_WORLD);
        /* The last ones of the ring send only when theirs are done. */
        if (rank == size - 1) MPI_Waitall(1, requests, MPI_STATUSES_IGNORE);
        give(8, 16, MPI_COMM_WORLD);
        if (rank == 0) take(8, 16, MPI_COMM_WORLD);
        MPI_Send(&mine, 1, MPI_INT, next, 14, MPI_COMM_WORLD);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        SAME(sum, size);
        SAME(other, before + round);
        SAME(differs(long_in, sizeof long_in, before, round), -1);
    }
    if (size == 1) return;
    /* A long message only, which its receiver fetches while this rank waits for the answer. */
    for (int round = 0; round < 20; round++) {
        MPI_Request request;
        fill(long_out, sizeof long_out, rank, round);
        MPI_Isend(long_out, sizeof long_out, MPI_BYTE, next, 17, MPI_COMM_WORLD, &request);
        if (rank > 0) take(8, 18, MPI_COMM_WORLD);
        MPI_Recv(long_in, sizeof long_in, MPI_BYTE, before, 17, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        SAME(differs(long_in, sizeof long_in, before, round), -1);
        give(8, 18, MPI_COMM_WORLD);
        if (rank == 0) take(8, 18, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

/* Others use the memory of a rank that waits for the word that they have. */
static void with_a_window(void)
{
    MPI_Win window;
    long *memory, one = 1, found = -1;
    MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    *memory = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int round = 0; round < 50; round++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, before, 0, window);
        MPI_Accumulate(&one, 1, MPI_LONG, before, 0, 1, MPI_LONG, MPI_SUM, window);
        MPI_Win_unlock(before, window);
        MPI_Send(&round, 1, MPI_INT, before, 19, MPI_COMM_WORLD);
        int got = -1;
        MPI_Recv(&got, 1, MPI_INT, next, 19, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        SAME(got, round);
    }
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window);
    MPI_Get(&found, 1, MPI_LONG, rank, 0, 1, MPI_LONG, window);
    MPI_Win_unlock(rank, window);
    SAME(found, 50);
    MPI_Win_free(&window);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    next = (rank + 1) % size;
    before = (rank + size - 1) % size;
    MPI_Comm twin;
    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    one_after_the_other(MPI_COMM_WORLD);
    one_after_the_other(twin);
    MPI_Comm_free(&twin);
    past_other_messages();
    if (size > 1) from_many();
    from_nobody();
    along_a_line();
    from_anybody_and_oneself();
    of_what_cannot_be();
    of_other_kinds();
    with_something_under_way();
    with_a_window();
    return conclude();
}
