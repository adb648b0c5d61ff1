/* MPI_Sendrecv by several threads of a rank at once: messages of all lengths that are under way at the same time, in one communicator with a tag for each thread, and in a communicator for each.
 * Where threads may not call at once, the rank does the same for one after the other. With the word "multiple" that is an error. */
#include "check.h"
#include <pthread.h>
#include <stdint.h>

enum { THREADS = 4, ROUNDS = 300, MOST = 70000 };

/* One of a rank's exchanges that go on at the same time: its messages have a communicator, a tag and buffers of their own. */
struct exchange {
    int number, tag;
    MPI_Comm comm;
    unsigned char out[MOST], in[MOST + 1];
};

static struct exchange exchanges[THREADS];

/* What all messages have in common. */
static unsigned char common[MOST];

/* The bytes of a message: any four in a row tell which message they are of.
 * Returns how many are not as they should be. */
static int bytes_of(int from, int exchange, int round, unsigned char *text, int bytes, int written)
{
    uint32_t message = ((uint32_t)from * THREADS + exchange) * ROUNDS + round;
    unsigned char parts[4] = {message, message >> 8, message >> 16, message >> 24};
    int wrong = 0;
    for (int i = 0; i < bytes; i++) {
        unsigned char byte = common[i] ^ parts[i % 4u];
        if (written) wrong += text[i] != byte;
        else text[i] = byte;
    }
    return wrong;
}

/* In a ring. The lengths of a round differ between the exchanges, and change from round to round; the receive has room for one byte more. */
static void *goes_on(void *argument)
{
    static const int lengths[] = {0, 8, 100, 4096, MOST};
    struct exchange *mine = argument;
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    for (int round = 0; round < ROUNDS; round++) {
        int bytes = lengths[(round + round / 5 + mine->number) % 5], count = -1;
        MPI_Status status;
        bytes_of(rank, mine->number, round, mine->out, bytes, 0);
        memset(mine->in, 0, bytes + 1);
        SAME(MPI_Sendrecv(mine->out, bytes, MPI_BYTE, next, mine->tag, mine->in, bytes + 1, MPI_BYTE, before, mine->tag, mine->comm, &status), MPI_SUCCESS);
        MPI_Get_count(&status, MPI_BYTE, &count);
        SAME(count, bytes);
        SAME(status.MPI_SOURCE, before);
        SAME(status.MPI_TAG, mine->tag);
        SAME(bytes_of(before, mine->number, round, mine->in, bytes, 1), 0);
        SAME(mine->in[bytes], 0);
    }
    return NULL;
}

static void all_go_on(int at_once)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        if (at_once) SAME(pthread_create(&threads[i], NULL, goes_on, &exchanges[i]), 0);
        else goes_on(&exchanges[i]);
    }
    for (int i = 0; at_once && i < THREADS; i++) SAME(pthread_join(threads[i], NULL), 0);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    fill(common, MOST, 0, 0);
    if (argc > 1 && strcmp(argv[1], "multiple") == 0) SAME(provided, MPI_THREAD_MULTIPLE);
    for (int i = 0; i < THREADS; i++) exchanges[i].number = exchanges[i].tag = i, exchanges[i].comm = MPI_COMM_WORLD;
    all_go_on(provided == MPI_THREAD_MULTIPLE);
    for (int i = 0; i < THREADS; i++) exchanges[i].tag = THREADS, MPI_Comm_dup(MPI_COMM_WORLD, &exchanges[i].comm);
    all_go_on(provided == MPI_THREAD_MULTIPLE);
    for (int i = 0; i < THREADS; i++) MPI_Comm_free(&exchanges[i].comm);
    return conclude();
}
