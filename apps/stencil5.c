/* Five-point stencil, as DCFA-MPI's authors ran it (table III): every point becomes the mean of its four neighbours and itself, on a field of 1282 x 1282 with
 * a fixed edge. Ranks have rows and exchange their first and last with their neighbours, 10 KB each; threads of a rank share its rows.
 *
 * Where hosts offload, the field stays on the cards: a step is an offloaded region, the rows that others need are copied out, exchanged by the hosts, and copied
 * in. The whole field is compared with a serial computation, bit by bit.
 *
 * Prints a line:
 *     app=stencil5 mode= ranks= threads= size= steps= check= result= time= cycles=
 * where time is that of all steps and result the sum of the field.                                                                 */
#include "common/compute.h"
#include "common/offload.h"
#include "common/options.h"
#include "common/report.h"

/* The law of the declared work: cycles of a point on one core, and which part of a rank's work its threads do not share, in ten thousandths. */
enum { CYCLES_PER_POINT = 41, UNSHARED_PER_10000 = 441 };

/* Rows of the whole field, the edge included, and of a rank, those of its neighbours included. */
typedef struct {
    int size, first, rows; /* the rank's rows are first .. first + rows - 1 */
    double *now, *next;
} Field;

static double initial(int row, int column) { return (double)((row * 131 + column * 17) % 257) / 257; }

static Field field_of(int size, int rank, int ranks)
{
    int inner = size - 2, first = 1 + (int)((int64_t)inner * rank / ranks), end = 1 + (int)((int64_t)inner * (rank + 1) / ranks);
    Field field = {.size = size, .first = first, .rows = end - first};
    size_t points = (size_t)(field.rows + 2) * (size_t)size;
    field.now = room(points, sizeof(double));
    field.next = room(points, sizeof(double));
    for (int row = 0; row < field.rows + 2; row++)
        for (int column = 0; column < size; column++)
            field.now[(size_t)row * (size_t)size + (size_t)column] = initial(first - 1 + row, column);
    memcpy(field.next, field.now, points * sizeof(double));
    return field;
}

static double *row_of(const Field *field, int row) { return field->now + (size_t)row * (size_t)field->size; }

static void field_free(Field *field)
{
    free(field->now);
    free(field->next);
}

/* A step of all rows. */
static void step(Field *field)
{
    int size = field->size;
    for (int row = 1; row <= field->rows; row++) {
        const double *here = row_of(field, row), *above = here - size, *below = here + size;
        double *to = field->next + (size_t)row * (size_t)size;
        for (int i = 1; i < size - 1; i++) to[i] = (here[i] + above[i] + below[i] + here[i - 1] + here[i + 1]) / 5;
    }
    double *before = field->now;
    field->now = field->next;
    field->next = before;
}

/* The same, as the work of so many threads. */
static void step_of_threads(Field *field, int threads)
{
    int64_t cycles = (int64_t)field->rows * (field->size - 2) * CYCLES_PER_POINT;
    int64_t unshared = threads > 1 ? cycles * UNSHARED_PER_10000 / 10000 : 0;
    declare_cycles(unshared + (cycles - unshared) / threads);
    step(field);
}

/* Sends the first and last rows to the neighbours and receives theirs. */
static void exchange(const Place *place, int size, double *first, double *last, double *above, double *below)
{
    MPI_Request requests[4];
    int count = 0;
    if (place->rank > 0) MPI_Irecv(above, size, MPI_DOUBLE, place->rank - 1, 0, place->comm, &requests[count++]);
    if (place->rank < place->ranks - 1) MPI_Irecv(below, size, MPI_DOUBLE, place->rank + 1, 0, place->comm, &requests[count++]);
    if (place->rank > 0) MPI_Isend(first, size, MPI_DOUBLE, place->rank - 1, 0, place->comm, &requests[count++]);
    if (place->rank < place->ranks - 1) MPI_Isend(last, size, MPI_DOUBLE, place->rank + 1, 0, place->comm, &requests[count++]);
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
}

static void run(const Place *place, Field *field, int threads, int steps)
{
    for (int i = 0; i < steps; i++) {
        step_of_threads(field, threads);
        exchange(place, field->size, row_of(field, 1), row_of(field, field->rows), row_of(field, 0), row_of(field, field->rows + 1));
    }
}

/* What a card keeps for its host: first and last row, and those of the neighbours. */
enum { FIRST, LAST, ABOVE, BELOW, ROWS };

/* A card: the rows that came go into the field, a step, and the rows that others need. */
static void serve(const Place *place, Field *field, int threads)
{
    int size = field->size;
    size_t bytes = (size_t)size * sizeof(double);
    double *rows = (double *)(void *)place->memory;
    for (int what; (what = offload_wait(place)) != OFFLOAD_ENDS;) {
        if (what > 0 && place->rank > 0) memcpy(row_of(field, 0), rows + ABOVE * size, bytes);
        if (what > 0 && place->rank < place->ranks - 1) memcpy(row_of(field, field->rows + 1), rows + BELOW * size, bytes);
        step_of_threads(field, threads);
        memcpy(rows + FIRST * size, row_of(field, 1), bytes);
        memcpy(rows + LAST * size, row_of(field, field->rows), bytes);
        offload_answer(place, 1);
    }
}

/* A host, which has nothing but these rows. */
static void run_by_host(const Place *place, int size, int steps)
{
    size_t bytes = (size_t)size * sizeof(double);
    double *rows = room(ROWS * (size_t)size, sizeof(double));
    bool above = place->rank > 0, below = place->rank < place->ranks - 1;
    for (int i = 0; i < steps; i++) {
        if (i > 0 && above) copy_in(place, rows + ABOVE * size, ABOVE * bytes, (int)bytes);
        if (i > 0 && below) copy_in(place, rows + BELOW * size, BELOW * bytes, (int)bytes);
        offload(place, i);
        if (above) copy_out(place, rows + FIRST * size, FIRST * bytes, (int)bytes);
        if (below) copy_out(place, rows + LAST * size, LAST * bytes, (int)bytes);
        exchange(place, size, rows + FIRST * size, rows + LAST * size, rows + ABOVE * size, rows + BELOW * size);
    }
    offload(place, OFFLOAD_ENDS);
    free(rows);
}

/* The first of those who compute has the whole field; the number of points that are not what a serial run gives, and the sum of all. */
static int64_t compare(const Place *place, const Field *field, int steps, double *sum)
{
    int size = field->size, mine = field->rows * size;
    if (place->rank > 0) {
        MPI_Send(row_of(field, 1), mine, MPI_DOUBLE, 0, 1, place->comm);
        return 0;
    }
    Field all = field_of(size, 0, 1);
    for (int i = 0; i < steps; i++) step(&all);
    double *whole = room((size_t)size * (size_t)size, sizeof(double));
    memcpy(whole + size, row_of(field, 1), (size_t)mine * sizeof(double));
    for (int rank = 1; rank < place->ranks; rank++) {
        Field part = {.first = 1 + (int)((int64_t)(size - 2) * rank / place->ranks),
                      .rows = (int)((int64_t)(size - 2) * (rank + 1) / place->ranks) - (int)((int64_t)(size - 2) * rank / place->ranks)};
        MPI_Recv(whole + (size_t)part.first * (size_t)size, part.rows * size, MPI_DOUBLE, rank, 1, place->comm, MPI_STATUS_IGNORE);
    }
    int64_t wrong = 0;
    for (int row = 1; row < size - 1; row++)
        for (int column = 0; column < size; column++) {
            size_t at = (size_t)row * (size_t)size + (size_t)column;
            wrong += whole[at] != all.now[at];
            *sum += whole[at];
        }
    free(whole);
    field_free(&all);
    return wrong;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, ranks, mode = MODE_DCFA, size = 1282, steps = 100, threads = 1;
    double mhz = ANDEY_MHZ;
    const Option options[] = {
        {.name = "--mode", .kind = OPTION_CHOICE, .value = &mode, .help = "who communicates", .words = MODE_WORDS},
        {.name = "--size", .kind = OPTION_POSITIVE, .value = &size, .help = "points of a side, the edge included (1282)", .most = 32768},
        {.name = "--steps", .kind = OPTION_POSITIVE, .value = &steps, .help = "steps (100)"},
        {.name = "--threads", .kind = OPTION_POSITIVE, .value = &threads, .help = "threads that share the declared work of a rank (1)"},
        {.name = "--mhz", .kind = OPTION_FRACTION, .value = &mhz, .help = "clock for cycles= (400)"},
    };
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    OptionsRead read = options_read(argc, argv, "stencil5: any ranks; as many hosts as cards", options, sizeof options / sizeof *options);
    int parts = mode == MODE_OFFLOAD ? ranks / 2 : ranks;
    if (!read.ends && ((mode == MODE_OFFLOAD && ranks % 2 != 0) || size - 2 < parts)) {
        if (rank == 0) fprintf(stderr, "stencil5: cannot divide %d rows among %d ranks in mode %s\n", size - 2, ranks, MODE_NAMES[mode]);
        read = (OptionsRead){.ends = true, .status = 2};
    }
    if (!read.ends) {
        Place place = place_of((Mode)mode, ROWS * (size_t)size * sizeof(double));
        Field field = field_of(size, place.rank, place.ranks);
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = MPI_Wtime();
        if (place.is_card) serve(&place, &field, threads);
        else if (place.has_card) run_by_host(&place, size, steps);
        else run(&place, &field, threads, steps);
        MPI_Barrier(place.comm);
        double time = MPI_Wtime() - begin, sums[2] = {0, 0}, all[2];
        if (!place.has_card) sums[0] = (double)compare(&place, &field, steps, &sums[1]);
        MPI_Allreduce(sums, all, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        if (rank == 0) {
            printf("app=stencil5 mode=%s ranks=%d threads=%d size=%d steps=%d check=%s result=%.9e", MODE_NAMES[mode], place.ranks, threads, size,
                   steps, all[0] == 0 ? "passed" : "failed", all[1]);
            report_time(time, mhz);
        }
        if (all[0] != 0) read.status = 1;
        field_free(&field);
        place_free(&place);
    }
    MPI_Finalize();
    return read.status;
}
