// The program promised that only its main thread would call MPI.
// ranks: 2
// modes: process
// flags: --check
// expect: MPI_THREAD_FUNNELED
#include "../wrong.h"

#include <pthread.h>

static void *ask(void *unused)
{
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return unused;
}

int main(int argc, char **argv)
{
    int provided;
    pthread_t thread;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    pthread_create(&thread, NULL, ask, NULL);
    pthread_join(thread, NULL);
    MPI_Finalize();
    return 0;
}
