/* What a broadcast of the first rank to all others takes, a short one and a long one.
 *
 * Prints a line for each size:
 *     app=bcast bytes= ranks= repetitions= result=ok|wrong time= cycles=
 * where time is that of one broadcast, from when all ranks have come together until the last one has the data. One that is not measured comes first.      */
#include "common/compute.h"
#include "common/options.h"
#include "common/report.h"

static double once(unsigned char *data, int bytes, int turn, int *wrong)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    memset(data, rank == 0 ? turn + 1 : 0, (size_t)bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    double times[2] = {MPI_Wtime(), 0};
    MPI_Bcast(data, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
    times[1] = MPI_Wtime();
    for (int i = 0; i < bytes; i++) *wrong |= data[i] != (unsigned char)(turn + 1);
    MPI_Allreduce(MPI_IN_PLACE, times, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return times[1] - times[0];
}

static void measure(int bytes, int repetitions, double mhz)
{
    int rank, ranks, wrong = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    unsigned char *data = malloc((size_t)bytes);
    if (data == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
    double sum = 0;
    once(data, bytes, 0, &wrong);
    for (int turn = 0; turn < repetitions; turn++) sum += once(data, bytes, turn, &wrong);
    free(data);
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (rank != 0) return;
    printf("app=bcast bytes=%d ranks=%d repetitions=%d result=%s", bytes, ranks, repetitions, wrong ? "wrong" : "ok");
    report_time(sum / repetitions, mhz);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    declare_nothing();
    int repetitions = 4;
    int small = 8, large = 65536;
    double mhz = ANDEY_MHZ;
    const Option options[] = {
        {.name = "--small", .kind = OPTION_POSITIVE, .value = &small, .help = "bytes of the short broadcast (8)"},
        {.name = "--large", .kind = OPTION_POSITIVE, .value = &large, .help = "bytes of the long broadcast (65536)"},
        {.name = "--repeat", .kind = OPTION_POSITIVE, .value = &repetitions, .help = "broadcasts of each size (4)"},
        {.name = "--mhz", .kind = OPTION_FRACTION, .value = &mhz, .help = "clock for cycles= (400)"},
    };
    OptionsRead read = options_read(argc, argv, "bcast: any number of ranks", options, sizeof options / sizeof *options);
    if (!read.ends) {
        measure(small, repetitions, mhz);
        measure(large, repetitions, mhz);
    }
    MPI_Finalize();
    return read.status;
}
