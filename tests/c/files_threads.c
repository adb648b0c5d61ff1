/* Files under MPI_THREAD_MULTIPLE: threads with files of their own, and threads that share one. */
#include "files.h"
#include <pthread.h>

enum { THREADS = 4, ROUNDS = 4, EACH = 1000 };
static MPI_Comm comms[THREADS];
static MPI_File common;
static int wrong[THREADS];

#define HOLDS(condition)                                                                                                 \
    do {                                                                                                                 \
        if (!(condition) && !wrong[me]++) fprintf(stderr, "rank %d thread %d, line %d: %s\n", rank, me, __LINE__, #condition); \
    } while (0)

static void *work(void *argument)
{
    int me = *(int *)argument, next = (rank + 1) % size;
    char own[300];
    snprintf(own, sizeof own, "%s-%d", path, me);
    for (int round = 0; round < ROUNDS; round++) {
        int numbers[EACH], found[EACH];
        MPI_File fh;
        MPI_Datatype dealt;
        MPI_Request request;
        MPI_Status status;
        for (int i = 0; i < EACH; i++) numbers[i] = (rank * 10 + me) * 10000 + round * 1000 + i;
        MPI_Type_create_resized(MPI_INT, 0, size * sizeof(int), &dealt);
        MPI_Type_commit(&dealt);
        HOLDS(MPI_File_open(comms[me], own, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                            &fh) == MPI_SUCCESS);
        HOLDS(MPI_File_set_view(fh, rank * sizeof(int), MPI_INT, dealt, "native", MPI_INFO_NULL) == MPI_SUCCESS);
        HOLDS(MPI_File_iwrite_all(fh, numbers, EACH, MPI_INT, &request) == MPI_SUCCESS);
        /* The one that all share, meanwhile. */
        HOLDS(MPI_File_write_shared(common, &numbers[0], 1, MPI_INT, &status) == MPI_SUCCESS);
        HOLDS(MPI_Wait(&request, &status) == MPI_SUCCESS && count_of(&status, MPI_INT) == EACH);
        MPI_File_sync(fh);
        HOLDS(MPI_File_set_view(fh, next * sizeof(int), MPI_INT, dealt, "native", MPI_INFO_NULL) == MPI_SUCCESS);
        HOLDS(MPI_File_read_all(fh, found, EACH, MPI_INT, &status) == MPI_SUCCESS && count_of(&status, MPI_INT) == EACH);
        for (int i = 0; i < EACH; i++) HOLDS(found[i] == (next * 10 + me) * 10000 + round * 1000 + i);
        HOLDS(MPI_File_close(&fh) == MPI_SUCCESS);
        MPI_Type_free(&dealt);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided, numbers[THREADS];
    pthread_t threads[THREADS];
    MPI_Offset bytes;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    SAME(provided, MPI_THREAD_MULTIPLE);
    name_file("files_threads");
    common = fresh(MPI_MODE_RDWR);
    for (int i = 0; i < THREADS; i++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, work, &numbers[i]);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) {
        failures += wrong[i];
        MPI_Comm_free(&comms[i]);
    }
    settle(common);
    MPI_File_get_size(common, &bytes);
    SAME(bytes, (MPI_Offset)sizeof(int) * size * THREADS * ROUNDS);
    SAME(MPI_File_close(&common), MPI_SUCCESS);
    return conclude();
}
