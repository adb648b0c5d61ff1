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
#include "common/compute.h"
#include "common/random.h"
#include "common/suite.h"

enum { NUMBERS_PER_CLUSTER = 1536, NUMBERS_MOST = 1 << 20, SAMPLES = 16 };
enum { FIRST_MOST = 100000000 }; /* the sum of a number's divisors must fit into 32 bits */
enum { CYCLES_PER_DIVISION = 20, CYCLES_PER_SUBTRACTION = 3, CYCLES_PER_PAIR = 6 };

typedef struct {
    int32_t number, numerator, denominator;
} Abundance;

static int first_number = 1000001;

static bool lead(Run *run);
static void lead_cluster(Run *run);
static void work(Run *run);

static const Suite friendly_numbers = {
    .name = "fn",
    .about = "fn: friendly numbers",
    .things = "numbers",
    .share = NUMBERS_PER_CLUSTER,
    .share_most = NUMBERS_MOST,
    .lead = lead,
    .lead_cluster = lead_cluster,
    .work = work,
};

int main(int argc, char **argv)
{
    Option first = {.name = "--first",
                    .kind = OPTION_POSITIVE,
                    .value = &first_number,
                    .help = "first number (1000001)",
                    .most = FIRST_MOST};
    return suite_main(argc, argv, &friendly_numbers, &first);
}

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

static bool lead(Run *run)
{
    int share = run->share, count = share * run->place.clusters;
    Abundance *numbers = room((size_t)count, sizeof *numbers);
    for (int i = 0; i < count; i++) numbers[i].number = first_number + i;

    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    for (int c = 0; c < run->place.clusters; c++) {
        channel_send_int(&run->channel, local_master_of(c), slaves_of(&run->place, c));
        channel_send_int(&run->channel, local_master_of(c), share);
        channel_send(&run->channel, local_master_of(c), numbers + c * share, share * (int64_t)sizeof *numbers);
    }
    for (int c = 0; c < run->place.clusters; c++)
        channel_receive(&run->channel, local_master_of(c), numbers + c * share, share * (int64_t)sizeof *numbers);
    int64_t pairs = count_friends(numbers, count);
    double seconds = MPI_Wtime() - begin;

    bool right = run->check == CHECK_SAMPLED ? samples_are_right(numbers, count, run->seed)
                                      : all_is_right(numbers, count, first_number, pairs);
    suite_report(run, &friendly_numbers, right);
    printf(" result=%lld", (long long)pairs);
    report_time(seconds, run->mhz);
    free(numbers);
    return right;
}

static void lead_cluster(Run *run)
{
    MPI_Barrier(MPI_COMM_WORLD);
    int workers = channel_receive_int(&run->channel, GLOBAL_MASTER) + 1;
    int count = channel_receive_int(&run->channel, GLOBAL_MASTER);
    Abundance *numbers = room((size_t)count, sizeof *numbers);
    channel_receive(&run->channel, GLOBAL_MASTER, numbers, count * (int64_t)sizeof *numbers);

    /* Part 0 is my own, part i that of slave i. */
    for (int i = 1; i < workers; i++) {
        int begin = (int)part_begin(count, workers, i), end = (int)part_begin(count, workers, i + 1);
        channel_send_int(&run->channel, run->place.rank + i, run->place.rank);
        channel_send_int(&run->channel, run->place.rank + i, end - begin);
        channel_send(&run->channel, run->place.rank + i, numbers + begin, (end - begin) * (int64_t)sizeof *numbers);
    }
    compute_abundances(numbers, (int)part_begin(count, workers, 1));
    for (int i = 1; i < workers; i++) {
        int begin = (int)part_begin(count, workers, i), end = (int)part_begin(count, workers, i + 1);
        channel_receive(&run->channel, run->place.rank + i, numbers + begin, (end - begin) * (int64_t)sizeof *numbers);
    }
    channel_send(&run->channel, GLOBAL_MASTER, numbers, count * (int64_t)sizeof *numbers);
    free(numbers);
}

static void work(Run *run)
{
    MPI_Barrier(MPI_COMM_WORLD);
    int master = channel_receive_int(&run->channel, local_master_of(run->place.cluster));
    int count = channel_receive_int(&run->channel, master);
    Abundance *numbers = room((size_t)count, sizeof *numbers);
    channel_receive(&run->channel, master, numbers, count * (int64_t)sizeof *numbers);
    compute_abundances(numbers, count);
    channel_send(&run->channel, master, numbers, count * (int64_t)sizeof *numbers);
    free(numbers);
}
