/* What a trace adds to a message of 8 bytes: half round trips with the recorder paused and running, turn and turn about, so that
 * whatever else slows the machine down slows both. The median of the differences counts.   figure trace BYTES VALUE ns        */
#include "measure.h"

enum { TURNS = 400, QUICK_TURNS = 40, ROUNDS = 4000, BYTES = 8 };

static double half_round_trip_ns(void)
{
    char data[BYTES] = {0};
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int i = 0; i < ROUNDS; i++) {
        if (me == 0) MPI_Send(data, BYTES, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(data, BYTES, MPI_BYTE, !me, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (me == 1) MPI_Send(data, BYTES, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
    return (MPI_Wtime() - start) / ROUNDS / 2 * 1e9;
}

int main(int argc, char **argv)
{
    double added[TURNS];
    MPI_Init(&argc, &argv);
    get_ready(argc, argv);
    int turns = quick ? QUICK_TURNS : TURNS;
    for (int turn = 0; turn < turns; turn++) {
        MPI_Pcontrol(0);
        added[turn] = -half_round_trip_ns();
        MPI_Pcontrol(1);
        added[turn] += half_round_trip_ns();
    }
    figure("trace", BYTES, median_of(added, turns), "ns");
    MPI_Finalize();
    return 0;
}
