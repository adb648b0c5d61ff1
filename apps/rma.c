/* One-sided communication between two ranks, as MPI/ES's authors measured it: MPI_Put, MPI_Get or MPI_Accumulate with sum from rank 0 to memory of rank 1
 * (or another), each until it is complete at the target.
 *
 * Origin and window are memory that the library allocates, and the epoch is open all the time, so that what is measured is the operation and its
 * MPI_Win_flush. An accumulate adds 64-bit integers, whose number is the size divided by eight.
 *
 * Prints a line for each size:
 *     app=rma operation= bytes= repetitions= result=ok time= cycles=
 * where time is that of one operation. One that is not measured comes first.                                      */
#include "common/compute.h"
#include "common/options.h"
#include "common/report.h"

enum { SIZES_MAX = 64 };
enum { PUT, GET, ACCUMULATE };

static const char OPERATIONS[] = "put|get|accumulate";
static const char *const NAMES[] = {"put", "get", "accumulate"};

static void operate(int operation, int target, int64_t *origin, int count, MPI_Win window)
{
    switch (operation) {
    case PUT: MPI_Put(origin, count, MPI_INT64_T, target, 0, count, MPI_INT64_T, window); break;
    case GET: MPI_Get(origin, count, MPI_INT64_T, target, 0, count, MPI_INT64_T, window); break;
    default: MPI_Accumulate(origin, count, MPI_INT64_T, target, 0, count, MPI_INT64_T, MPI_SUM, window);
    }
    MPI_Win_flush(target, window);
}

/* What the first and the last element must be after so many operations: in the window, or after a get at the origin. */
static void expect(const char *where, const int64_t *memory, int count, int64_t value)
{
    if (memory[0] == value && memory[count - 1] == value) return;
    fprintf(stderr, "rma: %s has %lld and %lld, expected %lld\n", where, (long long)memory[0], (long long)memory[count - 1],
            (long long)value);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Rank 0 operates, rank 1 looks at its memory afterwards. */
static void measure(int rank, int target, int operation, int count, int repetitions, double mhz)
{
    size_t bytes = (size_t)count * sizeof(int64_t);
    int64_t *memory, *origin;
    MPI_Win window;
    MPI_Win_allocate((MPI_Aint)bytes, sizeof(int64_t), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    MPI_Alloc_mem((MPI_Aint)bytes, MPI_INFO_NULL, &origin);
    for (int i = 0; i < count; i++) {
        memory[i] = operation == GET ? 7 : 0;
        origin[i] = operation == GET ? 0 : 1;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, window);
    if (rank == 0) {
        operate(operation, target, origin, count, window);
        double begin = MPI_Wtime();
        for (int i = 0; i < repetitions; i++) operate(operation, target, origin, count, window);
        double each = (MPI_Wtime() - begin) / repetitions;
        if (operation == GET) expect("the origin", origin, count, 7);
        printf("app=rma operation=%s bytes=%zu repetitions=%d result=ok", NAMES[operation], bytes, repetitions);
        report_time(each, mhz);
    }
    MPI_Win_unlock_all(window);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == target && operation != GET) expect("the window", memory, count, operation == PUT ? 1 : repetitions + 1);
    MPI_Free_mem(origin);
    MPI_Win_free(&window);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    declare_nothing();
    int rank, ranks, target = 1, operation = PUT, repetitions = 10;
    double mhz = ANDEY_MHZ;
    const char *sizes = "8,64,1024,16384,131072,1048576";
    const Option options[] = {
        {.name = "--operation", .kind = OPTION_CHOICE, .value = &operation, .help = "of rank 0", .words = OPERATIONS},
        {.name = "--sizes", .kind = OPTION_TEXT, .value = &sizes, .help = "bytes, multiples of 8, separated by commas (8 to 1048576)"},
        {.name = "--repeat", .kind = OPTION_POSITIVE, .value = &repetitions, .help = "operations of each size (10)"},
        {.name = "--target", .kind = OPTION_POSITIVE, .value = &target, .help = "the rank whose memory it is (1)"},
        {.name = "--mhz", .kind = OPTION_FRACTION, .value = &mhz, .help = "clock for cycles= (400)"},
    };
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    OptionsRead read = options_read(argc, argv, "rma: two ranks", options, sizeof options / sizeof *options);
    int64_t bytes[SIZES_MAX];
    int count = read.ends ? 0 : option_numbers(sizes, bytes, SIZES_MAX);
    bool fits = ranks > target && count >= 0;
    for (int i = 0; i < count; i++) fits = fits && bytes[i] >= 8 && bytes[i] % 8 == 0 && bytes[i] <= INT32_MAX;
    if (!read.ends && !fits) {
        if (rank == 0) fprintf(stderr, "rma: cannot play with %d ranks and sizes %s\n", ranks, sizes);
        read = (OptionsRead){.ends = true, .status = 2};
    }
    if (!read.ends)
        for (int i = 0; i < count; i++) measure(rank, target, operation, (int)(bytes[i] / 8), repetitions, mhz);
    MPI_Finalize();
    return read.status;
}
