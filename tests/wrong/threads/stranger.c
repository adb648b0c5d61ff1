// A thread of the program calls MPI where only the rank's own thread may (MPI_THREAD_FUNNELED).
// ranks: 2
// modes: thread fiber
// status: 0
// expect: MPI_Send
// expect: MPI_THREAD_FUNNELED
#include "../wrong.h"

#include <pthread.h>

static void *talk(void *unused)
{
    int value = 1;
    MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_SELF);
    return unused;
}

int main(int argc, char **argv)
{
    int provided;
    pthread_t thread;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    pthread_create(&thread, NULL, talk, NULL);
    pthread_join(thread, NULL);
    MPI_Finalize();
    return 0;
}
