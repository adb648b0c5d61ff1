/* FN: friendly numbers. Which numbers of a range have the same abundance sigma(n)/n, sigma(n) being the sum of n's divisors?
 *
 * After the FN of CAP Bench as LWMPI's authors run it: 1536 numbers a cluster from 1000001 on. The global master sends each
 * local master its numbers; that one splits them evenly among its slaves and itself; results {n, numerator, denominator}
 * come back the same way, and the global master counts the pairs with equal abundance.
 *
 * Law of the declared work. The kernel of the suite tries every divisor up to n/2, and its core has no divide instruction, so
 * that each division is a call that subtracts until less than the divisor is left:
 *     20 cycles a call (call, result through memory, test, loop) + 3 a subtraction (subtract, count, compare and branch);
 * floor(n/f) subtractions for divisor f. The global master compares all pairs: 6 cycles a pair (two loads from local memory,
 * compare, branch). The host gets the same results from the divisors up to the square root and from sorting.
 *
 * Prints app=fn variant= ranks= clusters= numbers= check= result=PAIRS time= cycles=.                             */
#include "common/channel.h"
#include "common/compute.h"
#include "common/options.h"
#include "common/random.h"
#include "common/report.h"
#include "common/roles.h"

enum { NUMBERS_PER_CLUSTER = 1536, SAMPLES = 16 };
enum { CYCLES_PER_DIVISION = 20, CYCLES_PER_SUBTRACTION = 3, CYCLES_PER_PAIR = 6 };

typedef struct {
    int32_t number, numerator, denominator;
} Abundance;

typedef struct {
    bool ipc;
    int check, first;
    double scale, mhz;
    uint64_t seed;
} Settings;

static int32_t greatest_common_divisor(int32_t a, int32_t b)
{
    while (b != 0) {
        int32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static Abundance reduced(int32_t number, int32_t divisors_sum)
{
    int32_t common = greatest_common_divisor(divisors_sum, number);
    return (Abundance){.number = number, .numerator = divisors_sum / common, .denominator = number / common};
}

static int32_t sum_of_divisors(int32_t n)
{
    int32_t sum = 0;
    for (int32_t f = 1; (int64_t)f * f <= n; f++)
        if (n % f == 0) sum += f * f == n ? f : f + n / f;
    return sum;
}

/* Cycles for trying every divisor from 2 to n/2. The subtractions are the sum of floor(n/f) over them: by Dirichlet's
 * hyperbola over all f up to n, less those of f = 1 and, one each, of f above n/2. */
static int64_t cycles_of(int32_t n)
{
    if (n < 4) return 0;
    int64_t subtractions = 0, root = 0;
    for (int64_t f = 1; f * f <= n; f++) {
        subtractions += 2 * (n / f);
        root = f;
    }
    subtractions -= root * root + n + (n - n / 2);
    return CYCLES_PER_DIVISION * (n / 2 - 1) + CYCLES_PER_SUBTRACTION * subtractions;
}

static void compute_abundances(Abundance *numbers, int count)
{
    for (int i = 0; i < count; i++) {
        int32_t n = numbers[i].number;
        numbers[i] = reduced(n, sum_of_divisors(n));
        declare_cycles(cycles_of(n));
    }
}

static int by_abundance(const void *left, const void *right)
{
    const Abundance *a = left, *b = right;
    if (a->numerator != b->numerator) return a->numerator < b->numerator ? -1 : 1;
    return (a->denominator > b->denominator) - (a->denominator < b->denominator);
}

/* Pairs of equal abundance. Sorts the numbers. */
static int64_t count_friends(Abundance *numbers, int count)
{
    qsort(numbers, (size_t)count, sizeof *numbers, by_abundance);
    int64_t pairs = 0, alike = 0;
    for (int i = 1; i < count; i++) {
        alike = by_abundance(&numbers[i - 1], &numbers[i]) == 0 ? alike + 1 : 0;
        pairs += alike;
    }
    declare_cycles((int64_t)count * (count - 1) / 2 * CYCLES_PER_PAIR);
    return pairs;
}

/* The definition, word for word: for the check of a few numbers. */
static int32_t sum_of_divisors_by_definition(int32_t n)
{
    int32_t sum = n;
    for (int32_t f = 1; f <= n / 2; f++)
        if (n % f == 0) sum += f;
    return sum;
}

static bool is_abundance(const Abundance *found, int32_t divisors_sum)
{
    return (int64_t)found->numerator * found->number == (int64_t)divisors_sum * found->denominator &&
           greatest_common_divisor(found->numerator, found->denominator) == 1;
}

static bool samples_are_right(const Abundance *numbers, int count, uint64_t seed)
{
    for (int i = 0; i < SAMPLES; i++) {
        const Abundance *sample = &numbers[random_at(seed, (uint64_t)i) % (uint64_t)count];
        if (!is_abundance(sample, sum_of_divisors_by_definition(sample->number))) return false;
    }
    return true;
}

/* Every abundance against a sieve of divisors, and the pairs one by one. */
static bool all_is_right(const Abundance *numbers, int count, int32_t first, int64_t pairs)
{
    int32_t *sums = room((size_t)count, sizeof *sums);
    int32_t last = first + count - 1;
    for (int32_t f = 1; f <= last; f++)
        for (int32_t multiple = (first + f - 1) / f * f; multiple <= last; multiple += f)
            sums[multiple - first] += f;
    bool right = true;
    int64_t found = 0;
    for (int i = 0; i < count; i++) {
        right = right && is_abundance(&numbers[i], sums[numbers[i].number - first]);
        for (int j = i + 1; j < count; j++)
            found += numbers[i].numerator == numbers[j].numerator && numbers[i].denominator == numbers[j].denominator;
    }
    free(sums);
    return right && found == pairs;
}

/* Whether the result holds. */
static bool lead(const Place *place, Channel *channel, const Settings *settings)
{
    int share = (int)(NUMBERS_PER_CLUSTER * settings->scale + 0.5), count = share * place->clusters;
    Abundance *numbers = room((size_t)count, sizeof *numbers);
    for (int i = 0; i < count; i++) numbers[i].number = settings->first + i;

    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    for (int c = 0; c < place->clusters; c++) {
        channel_send_int(channel, local_master_of(c), slaves_of(place, c));
        channel_send_int(channel, local_master_of(c), share);
        channel_send(channel, local_master_of(c), numbers + c * share, share * (int64_t)sizeof *numbers);
    }
    for (int c = 0; c < place->clusters; c++)
        channel_receive(channel, local_master_of(c), numbers + c * share, share * (int64_t)sizeof *numbers);
    int64_t pairs = count_friends(numbers, count);
    double seconds = MPI_Wtime() - begin;

    bool right = settings->check == 0 ? samples_are_right(numbers, count, settings->seed)
                                      : all_is_right(numbers, count, settings->first, pairs);
    printf("app=fn variant=%s ranks=%d clusters=%d numbers=%d check=%s result=%lld", channel_variant(channel), place->ranks,
           place->clusters, count, right ? "passed" : "failed", (long long)pairs);
    report_time(seconds, settings->mhz);
    free(numbers);
    return right;
}

static void lead_cluster(const Place *place, Channel *channel)
{
    MPI_Barrier(MPI_COMM_WORLD);
    int workers = channel_receive_int(channel, GLOBAL_MASTER) + 1, count = channel_receive_int(channel, GLOBAL_MASTER);
    Abundance *numbers = room((size_t)count, sizeof *numbers);
    channel_receive(channel, GLOBAL_MASTER, numbers, count * (int64_t)sizeof *numbers);

    /* Part 0 is my own, part i that of slave i. */
    for (int i = 1; i < workers; i++) {
        int begin = (int)part_begin(count, workers, i), end = (int)part_begin(count, workers, i + 1);
        channel_send_int(channel, place->rank + i, place->rank);
        channel_send_int(channel, place->rank + i, end - begin);
        channel_send(channel, place->rank + i, numbers + begin, (end - begin) * (int64_t)sizeof *numbers);
    }
    compute_abundances(numbers, (int)part_begin(count, workers, 1));
    for (int i = 1; i < workers; i++) {
        int begin = (int)part_begin(count, workers, i), end = (int)part_begin(count, workers, i + 1);
        channel_receive(channel, place->rank + i, numbers + begin, (end - begin) * (int64_t)sizeof *numbers);
    }
    channel_send(channel, GLOBAL_MASTER, numbers, count * (int64_t)sizeof *numbers);
    free(numbers);
}

static void work(const Place *place, Channel *channel)
{
    MPI_Barrier(MPI_COMM_WORLD);
    int master = channel_receive_int(channel, local_master_of(place->cluster));
    int count = channel_receive_int(channel, master);
    Abundance *numbers = room((size_t)count, sizeof *numbers);
    channel_receive(channel, master, numbers, count * (int64_t)sizeof *numbers);
    compute_abundances(numbers, count);
    channel_send(channel, master, numbers, count * (int64_t)sizeof *numbers);
    free(numbers);
}

static int run(const Settings *settings)
{
    Place place = place_of_this_rank();
    if (!every_cluster_has_slaves(&place, 0) || NUMBERS_PER_CLUSTER * settings->scale < 1) {
        if (place.rank == 0) fprintf(stderr, "fn: needs 2 ranks and a number a cluster\n");
        return 2;
    }
    Channel channel = channel_open(settings->ipc);
    int status = 0;
    switch (place.role) {
    case ROLE_GLOBAL_MASTER: status = lead(&place, &channel, settings) ? 0 : 1; break;
    case ROLE_LOCAL_MASTER: lead_cluster(&place, &channel); break;
    case ROLE_SLAVE: work(&place, &channel); break;
    }
    channel_close(&channel);
    return status;
}

int main(int argc, char **argv)
{
    Settings settings = {.first = 1000001, .scale = 1, .mhz = ANDEY_MHZ, .seed = 1};
    const Option options[] = {
        {.name = "--ipc", .kind = OPTION_FLAG, .value = &settings.ipc, .help = "raw mailboxes and portals instead of MPI"},
        {.name = "--scale", .kind = OPTION_FRACTION, .value = &settings.scale, .help = "part of 1536 numbers a cluster (1)"},
        {.name = "--first", .kind = OPTION_POSITIVE, .value = &settings.first, .help = "first number (1000001)"},
        {.name = "--check", .kind = OPTION_CHOICE, .value = &settings.check, .help = "numbers checked", .words = "sampled|full"},
        {.name = "--seed", .kind = OPTION_SEED, .value = &settings.seed, .help = "which samples are checked (1)"},
        {.name = "--mhz", .kind = OPTION_FRACTION, .value = &settings.mhz, .help = "clock for cycles= (400)"},
    };
    MPI_Init(&argc, &argv);
    OptionsRead read = options_read(argc, argv, "fn: friendly numbers", options, sizeof options / sizeof *options);
    int status = read.ends ? read.status : run(&settings);
    MPI_Finalize();
    return status;
}
