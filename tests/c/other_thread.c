/* What a thread that the program has made may ask in every kind of ranks (MPI 5.0, 11.2.1 and
 * 11.6.1): before MPI_Init, while MPI is active, and after MPI_Finalize. */
#include "check.h"

#include <pthread.h>

struct asked {
    int initialized, finalized, level, is_main, version, subversion, length, active;
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
};

static void *ask(void *argument)
{
    struct asked *asked = argument;
    memset(asked->library, 0, sizeof asked->library);
    SAME(MPI_Initialized(&asked->initialized), MPI_SUCCESS);
    SAME(MPI_Finalized(&asked->finalized), MPI_SUCCESS);
    SAME(MPI_Get_version(&asked->version, &asked->subversion), MPI_SUCCESS);
    SAME(MPI_Get_library_version(asked->library, &asked->length), MPI_SUCCESS);
    if (asked->active) {
        SAME(MPI_Query_thread(&asked->level), MPI_SUCCESS);
        SAME(MPI_Is_thread_main(&asked->is_main), MPI_SUCCESS);
    }
    return NULL;
}

static void ask_apart(int initialized, int finalized, int level)
{
    pthread_t thread;
    struct asked here = {.active = initialized && !finalized}, there = here;
    SAME(pthread_create(&thread, NULL, ask, &there), 0);
    pthread_join(thread, NULL);
    ask(&here);
    SAME(there.initialized, initialized);
    SAME(there.finalized, finalized);
    SAME(here.initialized, initialized);
    SAME(here.finalized, finalized);
    SAME(there.version, here.version);
    SAME(there.subversion, here.subversion);
    SAME(there.length, here.length);
    CHECK(strcmp(there.library, here.library) == 0);
    if (here.active) {
        SAME(there.level, level);
        SAME(here.level, level);
        SAME(there.is_main, 0);
        SAME(here.is_main, 1);
    }
}

int main(int argc, char **argv)
{
    int provided;
    ask_apart(0, 0, 0);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    ask_apart(1, 0, provided);
    conclude();
    ask_apart(1, 1, 0);
    return failures > 0;
}
