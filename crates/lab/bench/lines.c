/* Cache lines that go from core to core in a collective, and in how many rounds, where every member has a core of its own: counted, not timed, so that few cores are enough.
 *
 * Each process takes the memory that it shares with others away from itself (mprotect). So every access to it is a fault that says where, and whether it writes; the page is given back for that one instruction, which
 * the trap flag of the processor ends. Members take turns, in the order of ranks: one goes on until it needs a second line that it does not hold, or has waited for as long as a line takes to come. A table has
 * for each line of 64 bytes who holds it.
 *   a transfer   is a read of a line that the reader does not hold, or a write to one that the writer does not hold alone
 *   a round      is a step of the longest chain in which a member reads what another has written in this call, which had read what a third has written, and so on
 * Hints to the caches are not seen, nor is what the system copies. The library is told that there is a core for each, and to spin.
 *   figure NAME/rounds SIZE VALUE rounds         median of all calls
 *   figure NAME/busiest SIZE VALUE lines         transfers of the member that has most: median of all calls
 *   figure NAME/lines SIZE VALUE lines           transfers of all members: mean of all calls, since some things are done in one of several
 * usage: lines QUICK NAME...      of a job that is recorded, what goes by messages */
#define _GNU_SOURCE
#include "measure.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#ifndef __x86_64__
#error "the trap flag and the reason of a fault are those of x86-64"
#endif

/* As many calls are done first, and one more, to warm up. Short data lie in places that are used again after up to 128 calls: what a member does once in so many, to see how far the others are, is left out. A look at a line that is held takes a sixty-fourth of the time in which one comes. */
enum { CALLS = 32, LOOKS = 64, MEMBERS = 64, LINE = 64, PAGE = 4096, LINES = 1 << 18, AREAS = 64, OPEN = 4, SPOTS = 256, LARGEST = 8192, TRAP_FLAG = 0x100 };

/* A line that somebody has touched. */
struct line {
    uint64_t key;            /* file and place; 0 if there is none */
    uint64_t holders;        /* a bit for each member */
    int writer, call, depth; /* who has written last, in which call, and how many rounds that member had behind it */
};

/* What all members see. It is never taken away from them. */
struct stage {
    atomic_uint turn[MEMBERS]; /* raised when it is this member's turn */
    atomic_int present;        /* members that have come to the gate */
    atomic_uint gate;          /* raised when all have */
    int active[MEMBERS];       /* in the call */
    int waits[MEMBERS];        /* for somebody to write to a line that it holds */
    int call;
    int depth[MEMBERS];
    long transfers[MEMBERS];
    double rounds[CALLS], lines[CALLS], busiest[CALLS];
    struct line table[LINES];
};
static struct stage *stage;

/* Memory of this process that others have as well. */
static struct area {
    char *begin, *end;
    uint64_t file, offset;
} areas[AREAS];
static int area_count, guarded;

/* The pages that the access under way may use. */
static char *open_pages[OPEN];
static int open_count;
static unsigned my_turns;

/* Where this member has looked since it last fetched a line. */
static struct spot {
    uintptr_t code, at;
    int looks, again;
} spots[SPOTS];
static int spot_count, has_turn, has_moved;

static void give_up(const char *what, int error)
{
    fprintf(stderr, "cannot count lines: %s: %s\n", what, strerror(error));
    exit(1);
}

static void sleep_on(atomic_uint *word, unsigned value)
{
    syscall(SYS_futex, word, FUTEX_WAIT, value, 0, 0, 0);
}

static void wake(atomic_uint *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, MEMBERS, 0, 0, 0);
}

static void await_turn(void)
{
    unsigned seen;
    if (has_turn) return;
    while ((seen = atomic_load(&stage->turn[me])) == my_turns) sleep_on(&stage->turn[me], seen);
    my_turns = seen;
    has_turn = 1;
    has_moved = 0;
}

/* The next of those who do not wait; if all do, for the clock or for nothing, the next of all. */
static void pass_turn(void)
{
    has_turn = 0;
    for (int step = 1; step <= 2 * everybody; step++) {
        int next = (me + step) % everybody;
        if (!stage->active[next] || (stage->waits[next] && step <= everybody)) continue;
        stage->waits[next] = 0;
        atomic_fetch_add(&stage->turn[next], 1);
        if (next != me) wake(&stage->turn[next]);
        return;
    }
}

/* True if this member looks at the same once more, in vain. A look at what it holds takes little time: the first LOOKS together as much as a line takes to come; later ones are rounds of a long wait,
 * each of which lets the others do a step. */
static int waits(uintptr_t code, uintptr_t at)
{
    int i = 0;
    while (i < spot_count && (spots[i].code != code || spots[i].at != at)) i++;
    if (i == SPOTS) {
        spot_count = 0;
        return 1;
    }
    if (i == spot_count) spots[spot_count++] = (struct spot){code, at, 0, 0};
    if (spots[i].looks++ < LOOKS || !spots[i].again) {
        spots[i].again = 1;
        return 0;
    }
    for (i = 0; i < spot_count; i++) spots[i].again = 0;
    return 1;
}

static struct line *line_of(uint64_t key)
{
    uint64_t at = key * 0x9e3779b97f4a7c15u >> 40;
    for (int look = 0; look < LINES; look++, at++) {
        struct line *line = &stage->table[at % LINES];
        if (line->key == key) return line;
        if (line->key == 0) {
            *line = (struct line){.key = key, .writer = -1, .call = -1};
            return line;
        }
    }
    give_up("lines", E2BIG);
    return 0;
}

/* What an access does to a line, and what it tells this member. It is this member's turn, until it needs a second line, or spins. */
static void touch(uint64_t key, int writes, int reads, uintptr_t code, uintptr_t at)
{
    uint64_t mine = 1ull << me;
    struct line *line;
    for (;;) {
        await_turn();
        line = line_of(key);
        int held = writes ? line->holders == mine : (line->holders & mine) != 0;
        if (held && !writes && waits(code, at)) {
            stage->waits[me] = 1;
        } else if (held || !has_moved) {
            if (held) break;
            has_moved = 1;
            spot_count = 0;
            stage->transfers[me]++;
            if (reads && line->writer != me && line->call == stage->call && stage->depth[me] <= line->depth) stage->depth[me] = line->depth + 1;
            break;
        }
        pass_turn();
    }
    if (writes) {
        for (int other = 0; other < everybody; other++)
            if (line->holders >> other & 1) stage->waits[other] = 0;
        line->holders = mine;
        line->writer = me;
        line->call = stage->call;
        line->depth = stage->depth[me];
    } else {
        line->holders |= mine;
    }
}

/* Whether an instruction that writes reads the same place, as one step: it is locked, or an exchange. */
static int reads_too(const unsigned char *code)
{
    for (;; code++) {
        switch (*code) {
        case 0xf0: return 1;
        case 0x26: case 0x2e: case 0x36: case 0x3e: case 0x64: case 0x65: case 0x66: case 0x67: case 0xf2: case 0xf3: continue;
        default:
            if ((*code & 0xf0) == 0x40) continue;
            return *code == 0x86 || *code == 0x87;
        }
    }
}

static struct area *area_of(const char *at)
{
    for (int i = 0; i < area_count; i++)
        if (at >= areas[i].begin && at < areas[i].end) return &areas[i];
    return 0;
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
    ucontext_t *state = context;
    char *at = info->si_addr;
    struct area *area = area_of(at);
    if (!guarded || !area || open_count == OPEN) {
        struct sigaction usual = {.sa_handler = SIG_DFL};
        sigaction(signal, &usual, 0);
        return;
    }
    int saved = errno, writes = (state->uc_mcontext.gregs[REG_ERR] & 2) != 0;
    const unsigned char *code = (const unsigned char *)state->uc_mcontext.gregs[REG_RIP];
    touch((area->file << 40 ^ (area->offset + (uint64_t)(at - area->begin))) / LINE + 1, writes, !writes || reads_too(code), (uintptr_t)code, (uintptr_t)at);
    char *page = (char *)((uintptr_t)at / PAGE * PAGE);
    mprotect(page, PAGE, PROT_READ | PROT_WRITE);
    open_pages[open_count++] = page;
    state->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
    errno = saved;
}

static void on_step(int signal, siginfo_t *info, void *context)
{
    ucontext_t *state = context;
    int saved = errno;
    (void)signal, (void)info;
    state->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
    while (open_count > 0) mprotect(open_pages[--open_count], PAGE, PROT_NONE);
    errno = saved;
}

/* Finds the memory that others have as well. */
static void find_areas(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char row[8192];
    area_count = 0;
    while (fgets(row, sizeof row, maps)) {
        unsigned long begin, end, offset, file;
        char rights[5];
        if (sscanf(row, "%lx-%lx %4s %lx %*s %lu", &begin, &end, rights, &offset, &file) != 5) continue;
        if (strncmp(rights, "rw", 2) || rights[3] != 's' || begin == (unsigned long)stage) continue;
        if (area_count == AREAS) give_up("areas", E2BIG);
        areas[area_count++] = (struct area){(char *)begin, (char *)end, file, offset};
    }
    fclose(maps);
}

static void guard(int rights)
{
    for (int i = 0; i < area_count; i++)
        if (mprotect(areas[i].begin, (size_t)(areas[i].end - areas[i].begin), rights)) give_up("mprotect", errno);
}

/* All members come, and the last does something before they go on. */
static void meet(void (*last)(int), int number)
{
    unsigned gate = atomic_load(&stage->gate);
    if (atomic_fetch_add(&stage->present, 1) + 1 == everybody) {
        last(number);
        atomic_store(&stage->present, 0);
        atomic_fetch_add(&stage->gate, 1);
        wake(&stage->gate);
    } else {
        while (atomic_load(&stage->gate) == gate) sleep_on(&stage->gate, gate);
    }
}

static void begin_call(int number)
{
    stage->call = number;
    for (int member = 0; member < everybody; member++) {
        stage->active[member] = 1;
        stage->waits[member] = 0;
        stage->depth[member] = 0;
        stage->transfers[member] = 0;
    }
}

static void start(int number)
{
    (void)number;
    atomic_fetch_add(&stage->turn[0], 1);
    wake(&stage->turn[0]);
}

static void end_call(int number)
{
    double rounds = 0, lines = 0, busiest = 0;
    for (int member = 0; member < everybody; member++) {
        lines += (double)stage->transfers[member];
        if (stage->transfers[member] > busiest) busiest = (double)stage->transfers[member];
        if (stage->depth[member] > rounds) rounds = stage->depth[member];
    }
    if (number < 0) return;
    stage->rounds[number] = rounds;
    stage->lines[number] = lines;
    stage->busiest[number] = busiest;
}

static MPI_Comm comm;
static double *from, *into;

static void barrier(int count) { (void)count; MPI_Barrier(comm); }
static void bcast(int count) { MPI_Bcast(from, count, MPI_DOUBLE, 0, comm); }
static void reduce(int count) { MPI_Reduce(from, into, count, MPI_DOUBLE, MPI_SUM, 0, comm); }
static void allreduce(int count) { MPI_Allreduce(from, into, count, MPI_DOUBLE, MPI_SUM, comm); }
static void scan(int count) { MPI_Scan(from, into, count, MPI_DOUBLE, MPI_SUM, comm); }
static void gather(int count) { MPI_Gather(from, count, MPI_DOUBLE, into, count, MPI_DOUBLE, 0, comm); }
static void scatter(int count) { MPI_Scatter(from, count, MPI_DOUBLE, into, count, MPI_DOUBLE, 0, comm); }
static void allgather(int count) { MPI_Allgather(from, count, MPI_DOUBLE, into, count, MPI_DOUBLE, comm); }
static void alltoall(int count) { MPI_Alltoall(from, count, MPI_DOUBLE, into, count, MPI_DOUBLE, comm); }

static const struct collective {
    const char *name;
    void (*call)(int count);
    int size;
} collectives[] = {
    {"barrier", barrier, 0}, {"bcast", bcast, 8}, {"reduce", reduce, 8}, {"allreduce", allreduce, 8},
    {"gather", gather, 8}, {"scatter", scatter, 8}, {"allgather", allgather, 8}, {"alltoall", alltoall, 8},
    {"scan", scan, 8}, {"bcast", bcast, LARGEST}, {"allreduce", allreduce, LARGEST},
};

/* Of so many members longer data take minutes. */
enum { MEMBERS_OF_LONGER_DATA = 16 };

static void count(const struct collective *one)
{
    int elements = one->size / (int)sizeof(double), calls = one->size < LARGEST ? CALLS : CALLS / 4;
    find_areas();
    if (me == 0) memset(stage->table, 0, sizeof stage->table);
    for (int call = -calls - 1; call < calls; call++) {
        meet(begin_call, call);
        guard(PROT_NONE);
        guarded = 1;
        meet(start, call);
        one->call(elements);
        await_turn();
        stage->active[me] = 0;
        pass_turn();
        guarded = 0;
        guard(PROT_READ | PROT_WRITE);
        meet(end_call, call);
    }
    double lines = 0;
    for (int call = 0; call < calls; call++) lines += stage->lines[call] / calls;
    if (me != 0) return;
    const char *of = one->size ? "" : "none";
    char name[64];
    snprintf(name, sizeof name, "%s/rounds", one->name);
    figure_of(name, one->size, of, median_of(stage->rounds, calls), "rounds");
    snprintf(name, sizeof name, "%s/busiest", one->name);
    figure_of(name, one->size, of, median_of(stage->busiest, calls), "lines");
    snprintf(name, sizeof name, "%s/lines", one->name);
    figure_of(name, one->size, of, lines, "lines");
}

/* Memory of all members that is not MPI's, in a file next to the program. */
static struct stage *common_memory(const char *program)
{
    char name[4096];
    snprintf(name, sizeof name, "%s.stage", program);
    if (me == 0) unlink(name);
    MPI_Barrier(MPI_COMM_WORLD);
    int file = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, sizeof *stage)) give_up(name, errno);
    void *memory = mmap(0, sizeof *stage, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) give_up(name, errno);
    close(file);
    return memory;
}

/* What has to be said before the program begins: copies go line by line, and there are cores for all. */
static void begin_anew(char **argv)
{
    if (getenv("GLIBC_TUNABLES")) return;
    setenv("GLIBC_TUNABLES", "glibc.cpu.x86_rep_movsb_threshold=1073741824", 1);
    setenv("CORELACE_CORES", "64", 1);
    setenv("CORELACE_WAIT", "spin", 1);
    execv("/proc/self/exe", argv);
    give_up("/proc/self/exe", errno);
}

int main(int argc, char **argv)
{
    struct sigaction fault = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};
    struct sigaction step = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
    cpu_set_t one_core;
    begin_anew(argv);
    MPI_Init(&argc, &argv);
    get_ready(argc, argv);
    if (everybody > MEMBERS) give_up("members", E2BIG);
    from = calloc(MEMBERS, LARGEST);
    into = calloc(MEMBERS, LARGEST);
    stage = common_memory(argv[0]);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    /* Members agree in one of their first calls on how they do the later ones: by messages, if these are recorded then. */
    for (int i = 0; i < 8; i++) MPI_Barrier(comm);
    MPI_Pcontrol(0);
    /* They take turns: another core is of no use, and wakes up slowly. */
    CPU_ZERO(&one_core);
    CPU_SET(0, &one_core);
    sched_setaffinity(0, sizeof one_core, &one_core);
    sigaction(SIGSEGV, &fault, 0);
    sigaction(SIGTRAP, &step, 0);
    for (unsigned i = 0; i < sizeof collectives / sizeof *collectives; i++) {
        const struct collective *one = &collectives[i];
        int wanted = argc == 2;
        for (int k = 2; k < argc; k++) wanted |= !strcmp(argv[k], one->name);
        if (wanted && (one->size < LARGEST || everybody <= MEMBERS_OF_LONGER_DATA)) count(one);
    }
    MPI_Finalize();
    free(from);
    free(into);
    return 0;
}
