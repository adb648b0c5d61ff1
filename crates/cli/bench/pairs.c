/* Point-to-point figures between ranks 0 and 1, one a line:   figure NAME SIZE VALUE UNIT
 *   latency   half of a round trip
 *   rate      messages a second with 64 in flight
 *   copy      the same bytes by memcpy inside one rank: the limit that large messages are held against
 * usage: pairs QUICK                                                                                      */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IN_FLIGHT 64

static int me, quick;
static char *send_area, *receive_area;

static void one_way(int size, int to)
{
    MPI_Send(send_area, size, MPI_BYTE, to, 11, MPI_COMM_WORLD);
}

static void other_way(int size, int from)
{
    MPI_Recv(receive_area, size, MPI_BYTE, from, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Seconds for `trips` round trips, as rank 0 sees them. */
static double round_trips(int size, int trips)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    for (int trip = 0; trip < trips; trip++) {
        if (me == 0) {
            one_way(size, 1);
            other_way(size, 1);
        } else if (me == 1) {
            other_way(size, 0);
            one_way(size, 0);
        }
    }
    return MPI_Wtime() - begin;
}

/* Seconds for `bursts` bursts of IN_FLIGHT messages, each acknowledged once. */
static double bursts_of(int size, int bursts)
{
    MPI_Request pending[IN_FLIGHT];
    char token = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    for (int burst = 0; burst < bursts; burst++) {
        if (me > 1) continue;
        for (int k = 0; k < IN_FLIGHT; k++) {
            if (me == 0)
                MPI_Isend(send_area, size, MPI_BYTE, 1, 12, MPI_COMM_WORLD, &pending[k]);
            else
                MPI_Irecv(receive_area, size, MPI_BYTE, 0, 12, MPI_COMM_WORLD, &pending[k]);
        }
        MPI_Waitall(IN_FLIGHT, pending, MPI_STATUSES_IGNORE);
        if (me == 0)
            MPI_Recv(&token, 1, MPI_CHAR, 1, 13, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Send(&token, 1, MPI_CHAR, 0, 13, MPI_COMM_WORLD);
    }
    return MPI_Wtime() - begin;
}

static double copies(int size, int times)
{
    double begin = MPI_Wtime();
    for (int i = 0; i < times; i++) {
        memcpy(receive_area, send_area, size);
        __asm__ volatile("" : : "r"(receive_area) : "memory");
    }
    return MPI_Wtime() - begin;
}

static double best_of(double (*measure)(int, int), int size, int times)
{
    double best = measure(size, times / 10 + 1) / (times / 10 + 1);
    for (int attempt = 0; attempt < 3; attempt++) {
        double each = measure(size, times) / times;
        if (each < best) best = each;
    }
    return best;
}

int main(int argc, char **argv)
{
    static const int sizes[] = {0, 8, 64, 1024, 8192, 65536, 262144, 2097152};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    quick = argc > 1 && atoi(argv[1]);
    int largest = 2097152;
    send_area = malloc(largest);
    receive_area = malloc(largest);
    memset(send_area, 1, largest);
    memset(receive_area, 2, largest);
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int size = sizes[i];
        int times = (size <= 8192 ? 20000 : size <= 262144 ? 2000 : 300) / (quick ? 10 : 1);
        double trip = best_of(round_trips, size, times);
        if (me == 0) printf("figure latency %d %.4f us\n", size, trip / 2 * 1e6);
        if (size == 8 || size == 1024 || size == 65536) {
            double burst = best_of(bursts_of, size, times / 20 + 1);
            if (me == 0) printf("figure rate %d %.4f M/s\n", size, IN_FLIGHT / burst / 1e6);
        }
        if (size >= 65536) {
            double copy = best_of(copies, size, times);
            if (me == 0) printf("figure copy %d %.4f us\n", size, copy * 1e6);
        }
    }
    free(send_area);
    free(receive_area);
    MPI_Finalize();
    return 0;
}
