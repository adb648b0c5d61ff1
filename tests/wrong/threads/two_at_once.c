// Two threads in MPI at the same time, although only MPI_THREAD_SERIALIZED was granted.
// ranks: 1
// modes: process
// expect: MPI_THREAD_SERIALIZED
// never: RefCell
// never: panicked
#include "../wrong.h"

#include <pthread.h>

static void *talk(void *tag)
{
    int mine = 1, theirs, own = (int)(long)tag;
    for (int i = 0; i < 300000; i++)
        MPI_Sendrecv(&mine, 1, MPI_INT, 0, own, &theirs, 1, MPI_INT, 0, own, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    pthread_t thread[2];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    for (long i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, talk, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    MPI_Finalize();
    return 0;
}
