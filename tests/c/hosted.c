/* What a program may do that has to do with its process, one subject an argument. Prints the same whatever carries the ranks. */
#define _GNU_SOURCE
#include "check.h"

#include <argp.h>
#include <dlfcn.h>
#include <error.h>
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int late; /* what the destructor of the program says */

__attribute__((destructor)) static void at_the_end(void)
{
    if (late) printf("destructor of rank %d\n", late - 1);
}

static int status_of(pid_t child)
{
    int status;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void handler(void) { printf("handler of rank %d in %s\n", rank, late ? "the rank" : "a child"); }

/* Children end with their status, run their handlers and write to their rank's streams. */
static int forks(int argc, char **argv)
{
    pid_t early = fork();
    if (early == 0) exit(5);
    SAME(status_of(early), 5);
    begin(&argc, &argv);
    pid_t child = fork();
    if (child == 0) {
        execl("/no/such/program", "program", (char *)0);
        _exit(127);
    }
    SAME(status_of(child), 127);
    child = vfork();
    if (child == 0) _exit(7);
    SAME(status_of(child), 7);
    fflush(stdout);
    child = fork();
    if (child == 0) {
        atexit(handler);
        exit(8);
    }
    SAME(status_of(child), 8);
    child = fork();
    if (child == 0) execl("/bin/sh", "sh", "-c", "echo child of $0", argv[1], (char *)0);
    SAME(status_of(child), 0);
    SAME(WEXITSTATUS(system("echo system; exit 3")), 3);
    child = fork();
    if (child == 0) return 9; /* from main */
    SAME(status_of(child), 9);
    return conclude();
}

static void child_calls(void)
{
    pid_t child = fork();
    if (child == 0) {
        int number;
        _exit(MPI_Comm_rank(MPI_COMM_WORLD, &number) == MPI_SUCCESS);
    }
    SAME(status_of(child), 0);
}

static void *call(void *unused)
{
    int number = -1;
    *(int *)unused = MPI_Comm_rank(MPI_COMM_WORLD, &number);
    return NULL;
}

static void *slow(void *gate)
{
    char byte;
    if (read(*(int *)gate, &byte, 1) == 1) late = rank + 1;
    return NULL;
}

static void *open_gate(void *gate)
{
    if (write(*(int *)gate, "x", 1) != 1) abort();
    return NULL;
}

static void *call_again_and_again(void *unused)
{
    (void)unused;
    for (int round = 0; round < 2000000; round++) {
        int one = 1, other;
        MPI_Sendrecv(&one, 1, MPI_INT, 0, 1, &other, 1, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    }
    return NULL;
}

static double used_by(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Rank 0 works, and says how much; nobody else has. */
static void clocks(void)
{
    double mine = 0;
    if (rank == 0) {
        while (used_by(CLOCK_THREAD_CPUTIME_ID) < 0.4) continue;
        mine = (double)clock() / CLOCKS_PER_SEC;
        CHECK(mine > 0.35);
    }
    MPI_Bcast(&mine, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (rank > 0) {
        struct rusage usage;
        struct tms ticks;
        getrusage(RUSAGE_SELF, &usage);
        times(&ticks);
        CHECK((double)clock() / CLOCKS_PER_SEC < mine / 2);
        CHECK(used_by(CLOCK_PROCESS_CPUTIME_ID) < mine / 2);
        CHECK((double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec * 1e-6 < mine / 2);
        CHECK((double)ticks.tms_utime / (double)sysconf(_SC_CLK_TCK) < mine / 2);
    }
}

static int deep(int kilobytes)
{
    volatile char frame[1024];
    frame[0] = (char)kilobytes;
    return kilobytes ? deep(kilobytes - 1) + frame[0] - frame[0] : 0;
}

/* Touches the far end of its frame only. */
__attribute__((noinline)) static void wide(void)
{
    char frame[12 << 20];
    char *volatile far = frame;
    *far = 1;
}

static void crash(const char *how)
{
    volatile int zero = 0;
    switch (how[0]) {
    case 'd': printf("%d\n", deep(atoi(how + 1))); break;
    case 'w': wide(); break;
    case 's': *(volatile int *)8 = 1; break;
    case 'f': printf("%d\n", 10 / zero); break;
    case 'i': __builtin_trap(); break;
    case 'a': abort();
    }
}

static void affinity(void)
{
    cpu_set_t before, one, after;
    sched_getaffinity(0, sizeof before, &before);
    if (rank == 0) {
        CPU_ZERO(&one);
        for (int core = 0; core < CPU_SETSIZE && !CPU_COUNT(&one); core++)
            if (CPU_ISSET(core, &before)) CPU_SET(core, &one);
        pthread_setaffinity_np(pthread_self(), sizeof one, &one);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    sched_getaffinity(0, sizeof after, &after);
    if (rank > 0) CHECK(CPU_EQUAL(&before, &after));
}

/* Descriptor 1 is the rank's: a redirection is felt by the rank alone, and can be undone. */
static void descriptors(void)
{
    const char *directory = getenv("TMPDIR");
    char path[4096], text[64];
    snprintf(path, sizeof path, "%s/hosted-XXXXXX", directory ? directory : "/tmp");
    int file = mkstemp(path), saved = dup(1);
    unlink(path);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) SAME(dup2(file, 1), 1);
    MPI_Barrier(MPI_COMM_WORLD);
    struct iovec piece = {"line\n", 5};
    SAME(writev(1, &piece, 1), 5);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        SAME(pread(file, text, sizeof text, 0), 5);
        SAME(dup2(saved, 1), 1);
    }
    CHECK(!isatty(1));
    struct pollfd room = {.fd = 1, .events = POLLOUT};
    SAME(poll(&room, 1, 0), 1);
    SAME(room.fd, 1);
    fd_set set;
    FD_ZERO(&set);
    FD_SET(1, &set);
    struct timeval now = {0, 0};
    SAME(select(2, NULL, &set, NULL, &now), 1);
    CHECK(FD_ISSET(1, &set));
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) SAME(close(1), 0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank != 1) SAME(write(1, "open\n", 5), 5);
}

/* One call of each kind that ranks of a process have in common. */
static void shared(void)
{
    sigset_t none;
    struct itimerval never = {{0, 0}, {0, 0}};
    sigemptyset(&none);
    sigprocmask(SIG_BLOCK, &none, NULL);
    setitimer(ITIMER_VIRTUAL, &never, NULL);
    umask(umask(022));
    uselocale(LC_GLOBAL_LOCALE);
    signal(SIGUSR2, SIG_DFL);
    CHECK(getpid() > 0);
    CHECK(chdir(".") == 0);
    CHECK(!dlopen("./no-such-plug-in.so", RTLD_NOW));
}

int main(int argc, char **argv)
{
    const char *subject = argv[1];
    if (!strcmp(subject, "forks")) return forks(argc, argv);
    if (!strcmp(subject, "level")) {
        int provided, asked, code = 0;
        pthread_t thread;
        MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Query_thread(&asked);
        pthread_create(&thread, NULL, call, &code);
        pthread_join(thread, NULL);
        if (rank == 0)
            printf("%s, a thread's call %s\n",
                   provided != asked                      ? "differs from MPI_Query_thread"
                   : provided == MPI_THREAD_MULTIPLE   ? "multiple"
                   : provided == MPI_THREAD_FUNNELED   ? "funneled"
                                                       : "another level",
                   code == MPI_SUCCESS ? "works" : "fails");
        MPI_Finalize();
        return 0;
    }
    if (!strcmp(subject, "overlap")) {
        int provided;
        pthread_t threads[2];
        MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
        for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, call_again_and_again, NULL);
        for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
        MPI_Finalize();
        return 0;
    }
    begin(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    if (!strcmp(subject, "child-calls")) child_calls();
    if (!strcmp(subject, "clocks")) clocks();
    if (!strcmp(subject, "affinity")) affinity();
    if (!strcmp(subject, "descriptors")) descriptors();
    if (!strcmp(subject, "shared")) shared();
    if (!strcmp(subject, "exec") && rank == 1) execl("/bin/true", "true", (char *)0);
    if (!strcmp(subject, "crash") && rank == 1) crash(argv[2]);
    if (!strcmp(subject, "error") && rank == 1) error(3, 0, "rank %d cannot go on", rank);
    if (!strcmp(subject, "argp") && rank == 1) {
        struct argp nothing = {0};
        char *words[] = {"program", "--unknown", NULL};
        argp_parse(&nothing, 2, words, 0, NULL, NULL);
    }
    if (!strcmp(subject, "pthread_exit")) {
        /* The thread outlives main, and what it does still counts: the destructor tells. */
        static int gate[2];
        pthread_t threads[2];
        if (pipe(gate)) return 1;
        pthread_create(&threads[0], NULL, slow, &gate[0]);
        MPI_Finalize();
        pthread_create(&threads[1], NULL, open_gate, &gate[1]);
        pthread_exit(NULL);
    }
    if (!strcmp(subject, "destructor")) {
        late = rank + 1;
        atexit(handler);
    }
    return conclude();
}
