/* A thread that MPI does not know of measures while the main thread sends: the tools interface serves threads at every level of MPI. */
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>

enum { ROUNDS = 3000 };

static MPI_T_pvar_session session;
static MPI_T_pvar_handle sent, bytes;
static atomic_int over;

static void *monitor(void *unused)
{
    unsigned long long before = 0, now = 0, moved = 0;
    MPI_T_cvar_handle handle;
    int index, count;
    (void)unused;
    MPI_T_cvar_get_index("poll_limit", &index);
    MPI_T_cvar_handle_alloc(index, NULL, &handle, &count);
    while (!over) {
        unsigned long long limit = 0;
        SAME(MPI_T_pvar_read(session, sent, &now), MPI_SUCCESS);
        CHECK(now >= before);
        before = now;
        MPI_T_pvar_stop(session, bytes);
        SAME(MPI_T_pvar_readreset(session, bytes, &moved), MPI_SUCCESS);
        MPI_T_pvar_start(session, bytes);
        SAME(MPI_T_cvar_read(handle, &limit), MPI_SUCCESS);
        SAME(MPI_T_cvar_write(handle, &limit), MPI_SUCCESS);
    }
    MPI_T_cvar_handle_free(&handle);
    return NULL;
}

int main(int argc, char **argv)
{
    int provided = -1, index = -1, count = 0, status;
    unsigned long long messages = 0;
    pthread_t thread;
    SAME(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided), MPI_SUCCESS);
    SAME(provided, MPI_THREAD_MULTIPLE);
    if (argc > 1)
        MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    else
        MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_T_pvar_session_create(&session);
    MPI_T_pvar_get_index("messages_sent", MPI_T_PVAR_CLASS_COUNTER, &index);
    SAME(MPI_T_pvar_handle_alloc(session, index, NULL, &sent, &count), MPI_SUCCESS);
    MPI_T_pvar_get_index("bytes_sent", MPI_T_PVAR_CLASS_AGGREGATE, &index);
    SAME(MPI_T_pvar_handle_alloc(session, index, NULL, &bytes, &count), MPI_SUCCESS);
    pthread_create(&thread, NULL, monitor, NULL);
    for (int round = 0; round < ROUNDS; round++) {
        int mine = round, theirs = -1;
        MPI_Sendrecv(&mine, 1, MPI_INT, (rank + 1) % size, 1, &theirs, 1, MPI_INT, (rank + size - 1) % size, 1,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        SAME(theirs, round);
    }
    over = 1;
    pthread_join(thread, NULL);
    SAME(MPI_T_pvar_read(session, sent, &messages), MPI_SUCCESS);
    SAME(messages, ROUNDS);
    MPI_T_pvar_session_free(&session);
    status = conclude();
    MPI_T_finalize();
    return status;
}
