/* What programs that measure the machine share: a clock, and a core to stay on. Included first. */
#define _GNU_SOURCE
#include <sched.h>
#include <time.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

/* Keeps the calling thread on one core, if there is such a core. */
static void stay_on(int core)
{
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(core, &cores);
    sched_setaffinity(0, sizeof cores, &cores);
}
