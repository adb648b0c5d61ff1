/* queue: a queue of many writers and many readers in the large memory, of remote atomic operations alone.
 *
 * Ho's thesis names them beside transfers (section 4.2.1): fetch and add, peek and poke of a word, and queues made from them. The first half of the
 * ranks writes --items each, the others read them; nobody's code serves the queue. A writer draws a ticket, which says its place and its turn
 * there, waits until the place has been read in the turn before, writes, and tells that it has; readers do the same with tickets of their own.
 *
 *     turn of a place: even, it is free for the writer with this turn; odd, it is full for its reader
 *
 * The large memory is the DDR of the I/O rank on a chip (--io), else rank 0's window. No work is declared.
 *
 * Checked: every item is read once, and a reader sees the items of each writer in their order. Prints
 * app=queue ranks= writers= items= places= peeks= check= result=ITEMS_READ time= cycles=, where peeks are looks at a turn for each item. */
#include <sched.h>

#include "common/compute.h"
#include "common/global.h"
#include "common/report.h"
#include "common/roles.h"

typedef struct {
    int items, places;
    double mhz;
} Settings;

/* Words of the large memory: two counters of tickets, the places, and for each item how often it was read. */
enum { WRITE_TICKETS, READ_TICKETS, PLACES };
enum { TURN, ITEM, WORDS_PER_PLACE };

typedef struct {
    const Settings *settings;
    const Global *global;
    int writers, readers;
    int64_t peeks;
} Queue;

static MPI_Aint word_at(int64_t word) { return (MPI_Aint)(word * (int64_t)sizeof(int64_t)); }

/* One atomic operation on a word of the large memory: what was there. */
static int64_t atomic(const Queue *queue, int64_t word, int64_t operand, MPI_Op op)
{
    int64_t before;
    MPI_Fetch_and_op(&operand, &before, MPI_INT64_T, queue->global->owner, word_at(word), op, queue->global->win);
    MPI_Win_flush(queue->global->owner, queue->global->win);
    return before;
}

static int64_t fetch_add(const Queue *queue, int64_t word, int64_t operand) { return atomic(queue, word, operand, MPI_SUM); }

static int64_t peek(const Queue *queue, int64_t word) { return atomic(queue, word, 0, MPI_NO_OP); }

static void poke(const Queue *queue, int64_t word, int64_t value) { atomic(queue, word, value, MPI_REPLACE); }

static int64_t place_of(const Queue *queue, int64_t ticket) { return PLACES + ticket % queue->settings->places * WORDS_PER_PLACE; }

/* A host may have fewer cores than ranks: one that waits lets the others run. */
static void wait_for_turn(Queue *queue, int64_t place, int64_t turn)
{
    for (queue->peeks++; peek(queue, place + TURN) != turn; queue->peeks++) sched_yield();
}

static void put_item(Queue *queue, int64_t item)
{
    int64_t ticket = fetch_add(queue, WRITE_TICKETS, 1), place = place_of(queue, ticket), turn = 2 * (ticket / queue->settings->places);
    wait_for_turn(queue, place, turn);
    poke(queue, place + ITEM, item);
    poke(queue, place + TURN, turn + 1);
}

static int64_t take_item(Queue *queue)
{
    int64_t ticket = fetch_add(queue, READ_TICKETS, 1), place = place_of(queue, ticket), turn = 2 * (ticket / queue->settings->places) + 1;
    wait_for_turn(queue, place, turn);
    int64_t item = peek(queue, place + ITEM);
    poke(queue, place + TURN, turn + 1);
    return item;
}

static int64_t all_items(const Queue *queue) { return (int64_t)queue->writers * queue->settings->items; }

static int64_t first_mark(const Queue *queue) { return PLACES + (int64_t)queue->settings->places * WORDS_PER_PLACE; }

static void write_items(Queue *queue)
{
    for (int i = 0; i < queue->settings->items; i++) put_item(queue, (int64_t)queue->global->worker * queue->settings->items + i);
}

/* Whether the items of each writer came in their order. */
static bool read_items(Queue *queue)
{
    int reader = queue->global->worker - queue->writers;
    int64_t count = part_begin(all_items(queue), queue->readers, reader + 1) - part_begin(all_items(queue), queue->readers, reader);
    int64_t *next = room((size_t)queue->writers, sizeof *next);
    bool right = true;
    for (int64_t i = 0; i < count; i++) {
        int64_t item = take_item(queue), writer = item / queue->settings->items, number = item % queue->settings->items;
        bool known = item >= 0 && writer < queue->writers;
        right &= known && number >= next[writer];
        if (!known) continue;
        next[writer] = number + 1;
        fetch_add(queue, first_mark(queue) + item, 1);
    }
    free(next);
    return right;
}

static int run(const Settings *settings, Global *global)
{
    Queue queue = {.settings = settings, .global = global, .writers = global->workers / 2};
    queue.readers = global->workers - queue.writers;
    if (queue.writers == 0) {
        if (global->rank == 0) fprintf(stderr, "queue: 1 rank, expected 2 or more\n");
        return 2;
    }
    int64_t words = first_mark(&queue) + all_items(&queue), read = 0;
    global_open(global, word_at(words));
    if (global->owns) memset(global->memory, 0, (size_t)word_at(words));
    global_meet_all(global);
    double begin = MPI_Wtime();
    int right = 1;
    if (global->worker >= queue.writers) right = read_items(&queue);
    else if (global->worker >= 0) write_items(&queue);
    global_meet_all(global);
    double seconds = MPI_Wtime() - begin;
    for (int64_t i = 0; global->owns && i < all_items(&queue); i++) {
        int64_t times = ((const int64_t *)global->memory)[first_mark(&queue) + i];
        right &= times == 1;
        read += times;
    }
    int64_t sums[2] = {read, queue.peeks};
    MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_INT64_T, MPI_SUM, MPIX_COMM_LOCAL);
    MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_MIN, MPIX_COMM_LOCAL);
    global_close(global);
    if (global->rank == 0) {
        printf("app=queue ranks=%d writers=%d items=%d places=%d peeks=%.2f check=%s result=%lld", global->workers, queue.writers, settings->items,
               settings->places, (double)sums[1] / (double)all_items(&queue), right ? "passed" : "failed", (long long)sums[0]);
        report_time(seconds, settings->mhz);
    }
    return right ? 0 : 1;
}

int main(int argc, char **argv)
{
    Settings settings = {.items = 100, .places = 8, .mhz = ANDEY_MHZ};
    const Option options[] = {
        {.name = "--items", .kind = OPTION_POSITIVE, .value = &settings.items, .help = "of each writer (100)", .most = 1 << 20},
        {.name = "--places", .kind = OPTION_POSITIVE, .value = &settings.places, .help = "of the queue (8)", .most = 1 << 20},
        {.name = "--mhz", .kind = OPTION_FRACTION, .value = &settings.mhz, .help = "clock for cycles= (400)"},
    };
    MPI_Init(&argc, &argv);
    declare_nothing();
    Global global = global_roles();
    OptionsRead read = options_read(argc, argv, "queue: remote atomic operations", options, sizeof options / sizeof *options);
    read = global_told(read, &settings, sizeof settings);
    if (!read.ends) read.status = run(&settings, &global);
    MPI_Finalize();
    return read.status;
}
