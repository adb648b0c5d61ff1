/* A hash table in the memory of all ranks: everybody inserts and looks up, and no rank has to answer.   usage: hashtable [NUMBERS]
 *
 * The ranks draw numbers and count in the table how often each of them has come. A key lives at the rank and in the slot that its hash names, or in the next
 * slot that is free. A slot is claimed by MPI_Compare_and_swap, so that two ranks never claim the same one, and counted up by MPI_Accumulate. In the end each rank
 * looks its share of the keys up and compares the counts with its own. The result does not depend on the number of ranks.
 */
#include <mpi.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* A slot is two words: its key, 0 if it is free, and its count. */
enum { KEY, COUNT, WORDS };

typedef struct {
    MPI_Win win;
    uint64_t *mine; /* this rank's slots */
    uint64_t slots; /* how many each rank has */
    int rank, ranks;
} Table;

/* Bits in, other bits out: no two numbers give the same. */
static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* All ranks call it. The lock is shared and lasts as long as the table: it costs nobody anything, and makes every rank reachable at any time. */
static void table_create(Table *table, uint64_t slots, MPI_Comm comm)
{
    MPI_Comm_rank(comm, &table->rank);
    MPI_Comm_size(comm, &table->ranks);
    table->slots = slots;
    MPI_Win_allocate(slots * WORDS * sizeof(uint64_t), sizeof(uint64_t), MPI_INFO_NULL, comm, &table->mine, &table->win);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, table->win);
    for (uint64_t i = 0; i < slots * WORDS; i++) table->mine[i] = 0;
    MPI_Win_sync(table->win);
    MPI_Barrier(comm);
}

static void table_free(Table *table)
{
    MPI_Win_unlock_all(table->win);
    MPI_Win_free(&table->win);
}

/* Adds to the count of a key, which gets a slot if it has none. */
static void table_add(Table *table, uint64_t key, uint64_t amount)
{
    uint64_t hash = mix(key), slot = hash / table->ranks % table->slots;
    int owner = (int)(hash % table->ranks);
    for (uint64_t tries = 0; tries < table->slots; tries++, slot = (slot + 1) % table->slots) {
        uint64_t empty = 0, found;
        MPI_Compare_and_swap(&key, &empty, &found, MPI_UINT64_T, owner, slot * WORDS + KEY, table->win);
        MPI_Win_flush(owner, table->win);
        if (found == empty || found == key) {
            MPI_Accumulate(&amount, 1, MPI_UINT64_T, owner, slot * WORDS + COUNT, 1, MPI_UINT64_T, MPI_SUM, table->win);
            MPI_Win_flush_local(owner, table->win); /* `amount` may go */
            return;
        }
    }
    fprintf(stderr, "rank %d has no slot left for key %" PRIu64 "\n", owner, key);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* The count of a key, 0 if it has none. Words that others may change meanwhile are read by an operation that changes nothing. */
static uint64_t table_find(Table *table, uint64_t key)
{
    uint64_t hash = mix(key), slot = hash / table->ranks % table->slots;
    int owner = (int)(hash % table->ranks);
    for (uint64_t tries = 0; tries < table->slots; tries++, slot = (slot + 1) % table->slots) {
        uint64_t found, count;
        MPI_Fetch_and_op(NULL, &found, MPI_UINT64_T, owner, slot * WORDS + KEY, MPI_NO_OP, table->win);
        MPI_Fetch_and_op(NULL, &count, MPI_UINT64_T, owner, slot * WORDS + COUNT, MPI_NO_OP, table->win);
        MPI_Win_flush(owner, table->win);
        if (found == key) return count;
        if (found == 0) return 0;
    }
    return 0;
}

enum { DIFFERENT = 997 };

static uint64_t draw(long i)
{
    return 1 + mix(mix((uint64_t)i)) % DIFFERENT;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    long numbers = argc > 1 ? atol(argv[1]) : 20000;
    Table table;
    int ranks;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    table_create(&table, 2 * DIFFERENT / ranks + 64, MPI_COMM_WORLD);

    for (long i = table.rank; i < numbers; i += ranks) table_add(&table, draw(i), 1);
    MPI_Win_flush_all(table.win);
    MPI_Barrier(MPI_COMM_WORLD); /* everything is in the table */

    /* What is right: anybody can draw all numbers again. */
    uint64_t *expected = calloc(DIFFERENT + 1, sizeof *expected);
    for (long i = 0; i < numbers; i++) expected[draw(i)]++;
    uint64_t wrong = 0, best = 0;
    for (uint64_t key = 1 + table.rank; key <= DIFFERENT; key += ranks) {
        uint64_t count = table_find(&table, key);
        wrong += count != expected[key];
        uint64_t rated = count << 16 | (DIFFERENT - key); /* the highest count, and of equal ones the smallest key */
        if (rated > best) best = rated;
    }
    wrong += table_find(&table, DIFFERENT + 1 + table.rank) != 0; /* nobody has inserted that */
    free(expected);

    /* This rank's own slots are plain memory, once all have come here and nobody inserts any more. */
    MPI_Win_sync(table.win);
    uint64_t used = 0, sums[2], total[2];
    for (uint64_t i = 0; i < table.slots; i++) used += table.mine[i * WORDS + KEY] != 0;
    sums[0] = used, sums[1] = wrong;
    MPI_Reduce(sums, total, 2, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(table.rank ? &best : MPI_IN_PLACE, &best, 1, MPI_UINT64_T, MPI_MAX, 0, MPI_COMM_WORLD);
    int failed = 0;
    if (table.rank == 0) {
        failed = total[1] != 0;
        printf("%ld numbers: %" PRIu64 " different, the most frequent is %" PRIu64 " (%" PRIu64 " times), %" PRIu64 " wrong counts\n", numbers, total[0],
               DIFFERENT - (best & 0xffff), best >> 16, total[1]);
    }
    table_free(&table);
    MPI_Finalize();
    return failed;
}
