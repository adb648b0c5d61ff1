/* What a barrier takes: that of all ranks, which the machine may have in hardware, and one by messages beside it, on another communicator of the same ranks.
 *
 * Prints two lines:
 *     app=barrier of=world|messages ranks= repetitions= result=ok time= cycles=
 * where time is that of one barrier, between ranks that come together. One that is not measured comes first.      */
#include "common/compute.h"
#include "common/options.h"
#include "common/report.h"

static void measure(MPI_Comm comm, const char *of, int repetitions, double mhz)
{
    int rank, ranks;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    MPI_Barrier(comm);
    double begin = MPI_Wtime();
    for (int i = 0; i < repetitions; i++) MPI_Barrier(comm);
    double each = (MPI_Wtime() - begin) / repetitions;
    if (rank != 0) return;
    printf("app=barrier of=%s ranks=%d repetitions=%d result=ok", of, ranks, repetitions);
    report_time(each, mhz);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    declare_nothing();
    int repetitions = 10;
    double mhz = ANDEY_MHZ;
    const Option options[] = {
        {.name = "--repeat", .kind = OPTION_POSITIVE, .value = &repetitions, .help = "barriers of each kind (10)"},
        {.name = "--mhz", .kind = OPTION_FRACTION, .value = &mhz, .help = "clock for cycles= (400)"},
    };
    OptionsRead read = options_read(argc, argv, "barrier: any number of ranks", options, sizeof options / sizeof *options);
    if (!read.ends) {
        MPI_Comm messages;
        MPI_Comm_dup(MPI_COMM_WORLD, &messages);
        measure(MPI_COMM_WORLD, "world", repetitions, mhz);
        measure(messages, "messages", repetitions, mhz);
        MPI_Comm_free(&messages);
    }
    MPI_Finalize();
    return read.status;
}
