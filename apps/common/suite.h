/* What FN, GF and KM have in common: roles, a problem that grows with the clusters, options, a checked result.
 *
 * A program gives its three roles and the size of its problem; suite_main does the rest.                          */
#ifndef APPS_SUITE_H
#define APPS_SUITE_H

#include "channel.h"
#include "options.h"
#include "report.h"
#include "roles.h"

typedef enum { CHECK_SAMPLED, CHECK_FULL } Check;

typedef struct {
    Place place;
    Channel channel;
    int share; /* of the problem: numbers, images or points a cluster */
    Check check;
    uint64_t seed;
    double mhz;
} Run;

typedef struct {
    const char *name, *about, *things; /* things: what the problem is made of */
    int share, share_most;             /* of a cluster: as published, and what the program can do */
    int slaves_least;                  /* of a cluster */
    bool (*lead)(Run *run);            /* whether the result is right */
    void (*lead_cluster)(Run *run);
    void (*work)(Run *run);
} Suite;

/* Begins the line of results. */
static inline void suite_report(const Run *run, const Suite *suite, bool right)
{
    printf("app=%s variant=%s ranks=%d clusters=%d %s=%lld check=%s", suite->name, channel_variant(&run->channel),
           run->place.ranks, run->place.clusters, suite->things, (long long)run->share * run->place.clusters,
           right ? "passed" : "failed");
}

static inline int suite_run(Run *run, const Suite *suite)
{
    switch (run->place.role) {
    case ROLE_GLOBAL_MASTER: return suite->lead(run) ? 0 : 1;
    case ROLE_LOCAL_MASTER: suite->lead_cluster(run); return 0;
    case ROLE_SLAVE: suite->work(run); return 0;
    }
    return 1;
}

/* Whether ranks and size allow a run; if not, rank 0 says why. */
static inline bool suite_allows(const Run *run, const Suite *suite)
{
    if (every_cluster_has_slaves(&run->place, suite->slaves_least) && run->share >= 1 && run->share <= suite->share_most)
        return true;
    if (run->place.rank == 0)
        fprintf(stderr,
                "%s: %d ranks with %d %s a cluster, expected at least 2 ranks, %d slaves or more in each cluster of %d, 1 to %d %s\n",
                suite->name, run->place.ranks, run->share, suite->things, suite->slaves_least, RANKS_PER_CLUSTER,
                suite->share_most, suite->things);
    return false;
}

/* All of a program's main function. It may have one option of its own. */
static inline int suite_main(int argc, char **argv, const Suite *suite, const Option *own)
{
    bool raw = false;
    int check = CHECK_SAMPLED;
    double scale = 1, mhz = ANDEY_MHZ;
    uint64_t seed = 1;
    Option options[] = {
        {.name = "--ipc", .kind = OPTION_FLAG, .value = &raw, .help = "raw mailboxes and portals instead of MPI"},
        {.name = "--scale", .kind = OPTION_FRACTION, .value = &scale, .help = "part of the published size (1)"},
        {.name = "--check", .kind = OPTION_CHOICE, .value = &check, .help = "of the result", .words = "sampled|full"},
        {.name = "--seed", .kind = OPTION_SEED, .value = &seed, .help = "of data or samples (1)"},
        {.name = "--mhz", .kind = OPTION_FRACTION, .value = &mhz, .help = "clock for cycles= (400)"},
        {0},
    };
    int count = sizeof options / sizeof *options;
    if (own != NULL) options[count - 1] = *own;
    else count--;

    MPI_Init(&argc, &argv);
    OptionsRead read = options_read(argc, argv, suite->about, options, count);
    int status = read.status;
    if (!read.ends) {
        Run run = {.place = place_of_this_rank(), .check = (Check)check, .seed = seed, .mhz = mhz};
        run.share = scale * suite->share < INT32_MAX ? (int)(scale * suite->share + 0.5) : INT32_MAX;
        status = 2;
        if (suite_allows(&run, suite)) {
            run.channel = channel_open(raw);
            status = suite_run(&run, suite);
            channel_close(&run.channel);
        }
    }
    MPI_Finalize();
    return status;
}

#endif
