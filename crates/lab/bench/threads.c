/* MPI_THREAD_MULTIPLE: each thread of rank 0 with its partner of rank 1, on a communicator of their own, all at once.
 *   threads-latency   half of a round trip of 8 bytes, of the slowest pair
 *   threads-rate      messages of 8 bytes a second, 64 of each pair in flight, of all pairs together */
#include "measure.h"
#include <pthread.h>

enum { MOST_THREADS = 4, IN_FLIGHT = 64, BYTES = 8, TRIPS = 10000, BURSTS = 300 };

static MPI_Comm pair_of[MOST_THREADS];
static double seconds[MOST_THREADS];
static pthread_barrier_t gate;

static void *round_trips(void *number)
{
    long thread = (long)number;
    char data[BYTES] = {0};
    int trips = repetitions(TRIPS);
    pthread_barrier_wait(&gate);
    double begin = MPI_Wtime();
    for (int trip = 0; trip < trips; trip++) {
        if (me == 0) MPI_Send(data, BYTES, MPI_BYTE, 1, 0, pair_of[thread]);
        MPI_Recv(data, BYTES, MPI_BYTE, !me, 0, pair_of[thread], MPI_STATUS_IGNORE);
        if (me == 1) MPI_Send(data, BYTES, MPI_BYTE, 0, 0, pair_of[thread]);
    }
    seconds[thread] = (MPI_Wtime() - begin) / trips;
    return 0;
}

static void *bursts(void *number)
{
    long thread = (long)number;
    static char data[MOST_THREADS][IN_FLIGHT][BYTES];
    MPI_Request pending[IN_FLIGHT];
    int times = repetitions(BURSTS);
    char token = 0;
    pthread_barrier_wait(&gate);
    double begin = MPI_Wtime();
    for (int burst = 0; burst < times; burst++) {
        for (int k = 0; k < IN_FLIGHT; k++) {
            if (me == 0)
                MPI_Isend(data[thread][k], BYTES, MPI_BYTE, 1, 1, pair_of[thread], &pending[k]);
            else
                MPI_Irecv(data[thread][k], BYTES, MPI_BYTE, 0, 1, pair_of[thread], &pending[k]);
        }
        MPI_Waitall(IN_FLIGHT, pending, MPI_STATUSES_IGNORE);
        if (me == 0)
            MPI_Recv(&token, 1, MPI_CHAR, 1, 2, pair_of[thread], MPI_STATUS_IGNORE);
        else
            MPI_Send(&token, 1, MPI_CHAR, 0, 2, pair_of[thread]);
    }
    seconds[thread] = (MPI_Wtime() - begin) / times;
    return 0;
}

/* Seconds of one repetition of the slowest thread. */
static double all_at_once(void *(*work)(void *), int threads)
{
    pthread_t others[MOST_THREADS];
    double most = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    pthread_barrier_init(&gate, 0, (unsigned)threads);
    for (long thread = 1; thread < threads; thread++) pthread_create(&others[thread], 0, work, (void *)thread);
    work((void *)0);
    for (int thread = 1; thread < threads; thread++) pthread_join(others[thread], 0);
    pthread_barrier_destroy(&gate);
    for (int thread = 0; thread < threads; thread++)
        if (seconds[thread] > most) most = seconds[thread];
    return most;
}

static double best_all_at_once(void *(*work)(void *), int threads)
{
    double best = all_at_once(work, threads);
    for (int attempt = 1; attempt < ATTEMPTS; attempt++) {
        double each = all_at_once(work, threads);
        if (each < best) best = each;
    }
    return best;
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    get_ready(argc, argv);
    if (provided < MPI_THREAD_MULTIPLE) {
        fprintf(stderr, "MPI_THREAD_MULTIPLE is not provided\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int i = 0; i < MOST_THREADS; i++) MPI_Comm_dup(MPI_COMM_WORLD, &pair_of[i]);
    for (int threads = 1; threads <= MOST_THREADS; threads *= 2) {
        figure_of("threads-latency", threads, "threads", best_all_at_once(round_trips, threads) / 2 * 1e6, "us");
        double burst = best_all_at_once(bursts, threads);
        figure_of("threads-rate", threads, "threads", threads * IN_FLIGHT / burst / 1e6, "M/s");
    }
    for (int i = 0; i < MOST_THREADS; i++) MPI_Comm_free(&pair_of[i]);
    MPI_Finalize();
    return 0;
}
