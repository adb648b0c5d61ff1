/* What one message of 8 bytes costs in instructions: MPI_Send of a message that the other rank has posted a receive for, and MPI_Recv of one that has arrived, so
 * that nobody polls. Every rank has a tracer, its child, that takes it through the call one instruction after the other. What is executed outside of this program counts;
 * an instruction that repeats itself (rep movsb) counts once. Nothing is sampled: the same library gives the same number again.
 *   figure instructions/send BYTES VALUE instructions      the median of MESSAGES
 *   figure instructions/receive BYTES VALUE instructions
 *   figure instructions BYTES VALUE instructions           both together
 *   step send|receive MODULE+0xADDRESS                     one line for each instruction of one such message
 */
#define _GNU_SOURCE
#include "measure.h"
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 8, MESSAGES = 31, WARM_UP = 2000, BETWEEN = 40, MOST = 1 << 14 };

/* What a rank and its tracer share. */
struct record {
    atomic_int attached; /* 1 if the tracer holds the rank, or -errno */
    int message;
    int count[MESSAGES];
    unsigned long at[MESSAGES][MOST];
};
static struct record *record;

/* What the two ranks tell each other without messages. */
struct turns {
    atomic_int posted, arrived, taken;
};
static struct turns *turns;

static _Alignas(64) char outgoing[64], incoming[64];

static void give_up(const char *what, int error)
{
    fprintf(stderr, "cannot count instructions: %s: %s\n", what, strerror(error));
    exit(1);
}

/* The part of a program or library that an address is in. */
struct part {
    unsigned long at, begin, end, from;
    char module[4096];
};

static int holds(struct dl_phdr_info *object, size_t size, void *data)
{
    struct part *part = data;
    (void)size;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        unsigned long begin = object->dlpi_addr + object->dlpi_phdr[i].p_vaddr, end = begin + object->dlpi_phdr[i].p_memsz;
        if (object->dlpi_phdr[i].p_type != PT_LOAD || part->at < begin || part->at >= end) continue;
        part->begin = begin;
        part->end = end;
        part->from = object->dlpi_addr;
        snprintf(part->module, sizeof part->module, "%s", object->dlpi_name);
        return 1;
    }
    return 0;
}

static struct part part_of(unsigned long at)
{
    struct part part = {.at = at};
    dl_iterate_phdr(holds, &part);
    return part;
}

/* The tracer stops here with the rank, and goes on without it at the next. */
static void count_from_here(void)
{
    syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGTRAP);
}

static __attribute__((noinline)) void count_until_here(void)
{
    __asm__ volatile("" ::: "memory");
}

static unsigned long program_counter(pid_t rank)
{
#if defined(__x86_64__)
    /* The one register is enough, and quicker than all of them. */
    return (unsigned long)ptrace(PTRACE_PEEKUSER, rank, offsetof(struct user_regs_struct, rip), 0);
#else
    struct user_regs_struct registers;
    struct iovec whole = {&registers, sizeof registers};
    ptrace(PTRACE_GETREGSET, rank, NT_PRSTATUS, &whole);
    return registers.pc;
#endif
}

static int waits_for_tracer(pid_t rank)
{
    int status;
    if (waitpid(rank, &status, __WALL) < 0 || !WIFSTOPPED(status)) _exit(0);
    return status;
}

/* Takes the rank out of `count_from_here` and through everything up to `count_until_here`. */
static void step_through(pid_t rank, const struct part *program)
{
    unsigned long before = 0;
    int began = 0, count = 0;
    for (;;) {
        unsigned long now = program_counter(rank);
        int outside = now < program->begin || now >= program->end;
        if (now == (unsigned long)count_until_here) break;
        if (began && outside && now != before && count < MOST) record->at[record->message][count++] = now;
        began |= !outside;
        before = now;
        ptrace(PTRACE_SINGLESTEP, rank, 0, 0);
        waits_for_tracer(rank);
    }
    record->count[record->message++] = count;
}

static void trace(pid_t rank)
{
    struct part program = part_of((unsigned long)trace);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    atomic_store(&record->attached, ptrace(PTRACE_SEIZE, rank, 0, 0) == 0 ? 1 : -errno);
    if (record->attached < 0) _exit(0);
    for (;;) {
        int status = waits_for_tracer(rank), signal = WSTOPSIG(status);
        if (status >> 16) signal = 0;
        if (signal == SIGTRAP && record->message < MESSAGES) {
            step_through(rank, &program);
            signal = 0;
        }
        ptrace(PTRACE_CONT, rank, 0, signal);
    }
}

/* A tracer for this process, before MPI gives it threads and shared memory. */
static void be_traced(void)
{
    pid_t rank = getpid();
    record = mmap(0, sizeof *record, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (record == MAP_FAILED) give_up("mmap", errno);
    pid_t tracer = fork();
    if (tracer < 0) give_up("fork", errno);
    if (tracer == 0) {
        fclose(stdout);
        trace(rank);
    }
    while (!record->attached) {
        prctl(PR_SET_PTRACER, tracer);
        sched_yield();
    }
    if (record->attached < 0) give_up("ptrace", -record->attached);
}

/* Memory of both ranks that is not MPI's, in a file next to the program. */
static struct turns *common_memory(const char *program)
{
    char name[4096];
    snprintf(name, sizeof name, "%s.turns", program);
    int file = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, sizeof *turns)) give_up(name, errno);
    void *memory = mmap(0, sizeof *turns, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) give_up(name, errno);
    close(file);
    return memory;
}

static void wait_until(atomic_int *turn, int value)
{
    while (atomic_load(turn) < value) sched_yield();
}

static void send(void)
{
    MPI_Send(outgoing, BYTES, MPI_BYTE, !me, 1, MPI_COMM_WORLD);
}

static void receive(void)
{
    MPI_Recv(incoming, BYTES, MPI_BYTE, !me, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void round_trips(int trips)
{
    for (int trip = 0; trip < trips; trip++) {
        if (me == 0) send();
        receive();
        if (me == 1) send();
    }
}

/* Rank 0 sends what rank 1 has posted a receive for. */
static void counted_send(int turn)
{
    MPI_Request request;
    if (me == 0) {
        wait_until(&turns->posted, turn);
        count_from_here();
        send();
        count_until_here();
        atomic_store(&turns->arrived, turn);
    } else {
        MPI_Irecv(incoming, BYTES, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &request);
        atomic_store(&turns->posted, turn);
        wait_until(&turns->arrived, turn);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

/* Rank 1 receives what has arrived. */
static void counted_receive(int turn)
{
    if (me == 0) {
        send();
        atomic_store(&turns->arrived, turn);
        wait_until(&turns->taken, turn);
    } else {
        wait_until(&turns->arrived, turn);
        count_from_here();
        receive();
        count_until_here();
        atomic_store(&turns->taken, turn);
    }
}

static int typical_count(void)
{
    double counts[MESSAGES];
    for (int message = 0; message < MESSAGES; message++) counts[message] = record->count[message];
    return (int)median_of(counts, MESSAGES);
}

/* Names every instruction of a message that took as many as the median. */
static void print_steps(const char *what, int typical)
{
    int message = 0;
    while (record->count[message] != typical) message++;
    for (int i = 0; i < typical; i++) {
        struct part part = part_of(record->at[message][i]);
        printf("step %s %s+0x%lx\n", what, part.module, part.at - part.from);
    }
}

int main(int argc, char **argv)
{
    int counts[2] = {0}, of_receive = 0;
    be_traced();
    MPI_Init(&argc, &argv);
    get_ready(argc, argv);
    turns = common_memory(argv[0]);
    round_trips(WARM_UP);
    int turn = atomic_load(&turns->taken);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int message = 0; message < MESSAGES; message++) {
        counted_send(++turn);
        round_trips(BETWEEN);
        counted_receive(++turn);
        round_trips(BETWEEN);
    }
    counts[me] = typical_count();
    if (counts[me] == 0 || counts[me] == MOST) give_up("more instructions than there is room for, or none", ERANGE);
    if (me == 1) MPI_Send(&counts[1], 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
    if (me == 0) {
        MPI_Recv(&of_receive, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        figure("instructions/send", BYTES, counts[0], "instructions");
        figure("instructions/receive", BYTES, of_receive, "instructions");
        figure("instructions", BYTES, counts[0] + of_receive, "instructions");
    }
    print_steps(me == 0 ? "send" : "receive", counts[me]);
    MPI_Finalize();
    return 0;
}
