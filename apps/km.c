/* KM: k-means clustering of points in the plane.
 *
 * After the KM of CAP Bench as LWMPI's authors run it: 13440 points a cluster, 128 centroids. The global master chooses the
 * first centroids; each local master makes the points of its cluster and splits them evenly among its slaves and itself. In a
 * round everybody assigns its points to the nearest centroid and sends up the sums of coordinates (1024 bytes), the
 * populations (512) and whether a point has changed its centroid (4); a local master adds those of its cluster to its own; the
 * global master averages and sends down whether there is another round (4) and the new centroids (1024). It ends when no
 * point has changed, or after --rounds rounds.
 *
 * Coordinates are whole numbers, so that sums are exact and the result is the same to the last bit whoever adds what.
 *
 * Law of the declared work:
 *     20 cycles a distance (for two coordinates two loads, subtraction and multiply-add, then compare; a call with a loop);
 *     10 a point added to its centroid's sums; 10 a centroid of each partial sum added by a master;
 *     50 a centroid averaged (a reciprocal by software and two multiplications).
 * Making the points is not declared.
 *
 * Prints app=km variant= ranks= clusters= points= rounds= check= result=CHECKSUM time= cycles=. The checksum is made of the bits of
 * the last centroids. Checked is the last round against a serial one over all points, or with --check full every round. */
#include "common/channel.h"
#include "common/compute.h"
#include "common/options.h"
#include "common/random.h"
#include "common/report.h"
#include "common/roles.h"

enum { POINTS_PER_CLUSTER = 13440, CENTROIDS = 128, COORDINATES = 65536, NO_CENTROID = -1 };
enum { CYCLES_PER_DISTANCE = 20, CYCLES_PER_ADDITION = 10, CYCLES_PER_AVERAGE = 50 };

typedef struct {
    float x, y;
} Point;

/* What a group of points says about the centroids. */
typedef struct {
    uint32_t sums[CENTROIDS][2]; /* of coordinates: exact for 65536 points */
    int32_t populations[CENTROIDS];
    int32_t changed;
} Partial;

typedef struct {
    bool ipc;
    int check, rounds;
    double scale, mhz;
    uint64_t seed;
} Settings;

static Point point_at(uint64_t seed, uint64_t index)
{
    uint64_t bits = random_at(seed, index);
    return (Point){.x = (float)(bits % COORDINATES), .y = (float)(bits / COORDINATES % COORDINATES)};
}

static Point first_centroid(uint64_t seed, int centroid) { return point_at(~seed, (uint64_t)centroid); }

static int nearest(const Point *centroids, Point point)
{
    int best = 0;
    float least = 0;
    for (int c = 0; c < CENTROIDS; c++) {
        float across = centroids[c].x - point.x, up = centroids[c].y - point.y, distance = across * across + up * up;
        if (c == 0 || distance < least) {
            least = distance;
            best = c;
        }
    }
    return best;
}

static void assign_points(const Point *points, int32_t *assigned, int count, const Point *centroids, Partial *partial)
{
    *partial = (Partial){0};
    for (int i = 0; i < count; i++) {
        int centroid = nearest(centroids, points[i]);
        partial->changed |= centroid != assigned[i];
        assigned[i] = centroid;
        partial->sums[centroid][0] += (uint32_t)points[i].x;
        partial->sums[centroid][1] += (uint32_t)points[i].y;
        partial->populations[centroid]++;
    }
    declare_cycles((int64_t)count * (CENTROIDS * CYCLES_PER_DISTANCE + CYCLES_PER_ADDITION));
}

static void send_partial(Channel *channel, int to, const Partial *partial)
{
    channel_send(channel, to, partial->sums, sizeof partial->sums);
    channel_send(channel, to, partial->populations, sizeof partial->populations);
    channel_send_int(channel, to, partial->changed);
}

static void receive_partial(Channel *channel, int from, Partial *partial)
{
    channel_receive(channel, from, partial->sums, sizeof partial->sums);
    channel_receive(channel, from, partial->populations, sizeof partial->populations);
    partial->changed = channel_receive_int(channel, from);
}

/* Sums over clusters need more than 32 bits. */
typedef struct {
    uint64_t sums[CENTROIDS][2];
    int64_t populations[CENTROIDS];
    bool changed;
} Total;

static void add_to_total(Total *total, const Partial *partial)
{
    for (int c = 0; c < CENTROIDS; c++) {
        total->sums[c][0] += partial->sums[c][0];
        total->sums[c][1] += partial->sums[c][1];
        total->populations[c] += partial->populations[c];
    }
    total->changed |= partial->changed != 0;
}

/* A centroid without points stays where it is. */
static void average(const Total *total, Point *centroids)
{
    for (int c = 0; c < CENTROIDS; c++) {
        if (total->populations[c] == 0) continue;
        double population = (double)total->populations[c];
        centroids[c].x = (float)((double)total->sums[c][0] / population);
        centroids[c].y = (float)((double)total->sums[c][1] / population);
    }
}

static uint64_t bits_of(const Point *centroids)
{
    uint64_t bits = 0;
    for (int c = 0; c < CENTROIDS; c++) {
        uint64_t point;
        memcpy(&point, &centroids[c], sizeof point);
        bits = random_mix(bits ^ point);
    }
    return bits;
}

/* One round of everything, by this rank alone. */
static void serial_round(const Settings *settings, int64_t points, Point *centroids)
{
    Total total = {0};
    for (int64_t i = 0; i < points; i++) {
        Point point = point_at(settings->seed, (uint64_t)i);
        int centroid = nearest(centroids, point);
        total.sums[centroid][0] += (uint64_t)point.x;
        total.sums[centroid][1] += (uint64_t)point.y;
        total.populations[centroid]++;
    }
    average(&total, centroids);
}

static bool centroids_are_right(const Settings *settings, int64_t points, int rounds, const Point *before, const Point *found)
{
    Point centroids[CENTROIDS];
    int again = settings->check == 0 ? 1 : rounds;
    for (int c = 0; c < CENTROIDS; c++) centroids[c] = settings->check == 0 ? before[c] : first_centroid(settings->seed, c);
    for (int round = 0; round < again; round++) serial_round(settings, points, centroids);
    return memcmp(centroids, found, sizeof centroids) == 0;
}

static int points_of_cluster(const Settings *settings) { return (int)(POINTS_PER_CLUSTER * settings->scale + 0.5); }

/* Takes everybody's sums and makes the next centroids. Whether a point has changed. */
static bool lead_round(const Place *place, Channel *channel, Point *centroids)
{
    Total total = {0};
    for (int c = 0; c < place->clusters; c++) {
        Partial partial;
        receive_partial(channel, local_master_of(c), &partial);
        add_to_total(&total, &partial);
    }
    average(&total, centroids);
    declare_cycles((int64_t)CENTROIDS * (place->clusters * CYCLES_PER_ADDITION + CYCLES_PER_AVERAGE));
    return total.changed;
}

static bool lead(const Place *place, Channel *channel, const Settings *settings)
{
    int share = points_of_cluster(settings), rounds = 0;
    Point centroids[CENTROIDS], before[CENTROIDS];
    for (int c = 0; c < CENTROIDS; c++) centroids[c] = first_centroid(settings->seed, c);

    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    for (int c = 0; c < place->clusters; c++) {
        channel_send_int(channel, local_master_of(c), slaves_of(place, c));
        channel_send_int(channel, local_master_of(c), share);
        channel_send(channel, local_master_of(c), centroids, sizeof centroids);
    }
    for (bool again = true; again;) {
        memcpy(before, centroids, sizeof before);
        rounds++;
        again = lead_round(place, channel, centroids) && rounds < settings->rounds;
        for (int c = 0; c < place->clusters; c++) {
            channel_send_int(channel, local_master_of(c), again);
            if (again) channel_send(channel, local_master_of(c), centroids, sizeof centroids);
        }
    }
    double seconds = MPI_Wtime() - begin;

    int64_t points = (int64_t)share * place->clusters;
    bool right = centroids_are_right(settings, points, rounds, before, centroids);
    printf("app=km variant=%s ranks=%d clusters=%d points=%lld rounds=%d check=%s result=%016llx", channel_variant(channel),
           place->ranks, place->clusters, (long long)points, rounds, right ? "passed" : "failed",
           (unsigned long long)bits_of(centroids));
    report_time(seconds, settings->mhz);
    return right;
}

static void add_to_partial(Partial *mine, const Partial *other)
{
    for (int c = 0; c < CENTROIDS; c++) {
        mine->sums[c][0] += other->sums[c][0];
        mine->sums[c][1] += other->sums[c][1];
        mine->populations[c] += other->populations[c];
    }
    mine->changed |= other->changed;
    declare_cycles(CENTROIDS * CYCLES_PER_ADDITION);
}

static void lead_cluster(const Place *place, Channel *channel, const Settings *settings)
{
    MPI_Barrier(MPI_COMM_WORLD);
    Point centroids[CENTROIDS];
    int workers = channel_receive_int(channel, GLOBAL_MASTER) + 1, count = channel_receive_int(channel, GLOBAL_MASTER);
    channel_receive(channel, GLOBAL_MASTER, centroids, sizeof centroids);

    Point *points = room((size_t)count, sizeof *points);
    int32_t *assigned = room((size_t)count, sizeof *assigned);
    for (int i = 0; i < count; i++) {
        points[i] = point_at(settings->seed, (uint64_t)place->cluster * (uint64_t)count + (uint64_t)i);
        assigned[i] = NO_CENTROID;
    }
    /* Part 0 is my own, part i that of slave i. */
    for (int i = 1; i < workers; i++) {
        int begin = (int)part_begin(count, workers, i), length = (int)part_begin(count, workers, i + 1) - begin;
        channel_send_int(channel, place->rank + i, place->rank);
        channel_send_int(channel, place->rank + i, length);
        channel_send(channel, place->rank + i, points + begin, length * (int64_t)sizeof *points);
        channel_send(channel, place->rank + i, assigned + begin, length * (int64_t)sizeof *assigned);
        channel_send(channel, place->rank + i, centroids, sizeof centroids);
    }
    int own = (int)part_begin(count, workers, 1);
    Partial *mine = room(1, sizeof *mine), *other = room(1, sizeof *other);
    for (int again = 1; again;) {
        assign_points(points, assigned, own, centroids, mine);
        for (int i = 1; i < workers; i++) {
            receive_partial(channel, place->rank + i, other);
            add_to_partial(mine, other);
        }
        send_partial(channel, GLOBAL_MASTER, mine);
        again = channel_receive_int(channel, GLOBAL_MASTER);
        if (again) channel_receive(channel, GLOBAL_MASTER, centroids, sizeof centroids);
        for (int i = 1; i < workers; i++) {
            channel_send_int(channel, place->rank + i, again);
            if (again) channel_send(channel, place->rank + i, centroids, sizeof centroids);
        }
    }
    for (int i = 1; i < workers; i++) {
        int begin = (int)part_begin(count, workers, i), length = (int)part_begin(count, workers, i + 1) - begin;
        channel_receive(channel, place->rank + i, assigned + begin, length * (int64_t)sizeof *assigned);
    }
    free(points);
    free(assigned);
    free(mine);
    free(other);
}

static void work(const Place *place, Channel *channel)
{
    MPI_Barrier(MPI_COMM_WORLD);
    Point centroids[CENTROIDS];
    int master = channel_receive_int(channel, local_master_of(place->cluster));
    int count = channel_receive_int(channel, master);
    Point *points = room((size_t)count, sizeof *points);
    int32_t *assigned = room((size_t)count, sizeof *assigned);
    Partial *mine = room(1, sizeof *mine);
    channel_receive(channel, master, points, count * (int64_t)sizeof *points);
    channel_receive(channel, master, assigned, count * (int64_t)sizeof *assigned);
    channel_receive(channel, master, centroids, sizeof centroids);
    for (int again = 1; again;) {
        assign_points(points, assigned, count, centroids, mine);
        send_partial(channel, master, mine);
        again = channel_receive_int(channel, master);
        if (again) channel_receive(channel, master, centroids, sizeof centroids);
    }
    channel_send(channel, master, assigned, count * (int64_t)sizeof *assigned);
    free(points);
    free(assigned);
    free(mine);
}

static int run(const Settings *settings)
{
    Place place = place_of_this_rank();
    int points = points_of_cluster(settings);
    if (!every_cluster_has_slaves(&place, 0) || points < 1 || points > COORDINATES) {
        if (place.rank == 0) fprintf(stderr, "km: needs 2 ranks and 1 to 65536 points a cluster, has %d\n", points);
        return 2;
    }
    Channel channel = channel_open(settings->ipc);
    int status = 0;
    switch (place.role) {
    case ROLE_GLOBAL_MASTER: status = lead(&place, &channel, settings) ? 0 : 1; break;
    case ROLE_LOCAL_MASTER: lead_cluster(&place, &channel, settings); break;
    case ROLE_SLAVE: work(&place, &channel); break;
    }
    channel_close(&channel);
    return status;
}

int main(int argc, char **argv)
{
    Settings settings = {.rounds = 131, .scale = 1, .mhz = ANDEY_MHZ, .seed = 1};
    const Option options[] = {
        {.name = "--ipc", .kind = OPTION_FLAG, .value = &settings.ipc, .help = "raw mailboxes and portals instead of MPI"},
        {.name = "--scale", .kind = OPTION_FRACTION, .value = &settings.scale, .help = "part of 13440 points a cluster (1)"},
        {.name = "--rounds", .kind = OPTION_POSITIVE, .value = &settings.rounds, .help = "end after this many at most (131)"},
        {.name = "--check", .kind = OPTION_CHOICE, .value = &settings.check, .help = "rounds checked", .words = "sampled|full"},
        {.name = "--seed", .kind = OPTION_SEED, .value = &settings.seed, .help = "of points and first centroids (1)"},
        {.name = "--mhz", .kind = OPTION_FRACTION, .value = &settings.mhz, .help = "clock for cycles= (400)"},
    };
    MPI_Init(&argc, &argv);
    OptionsRead read = options_read(argc, argv, "km: k-means clustering", options, sizeof options / sizeof *options);
    int status = read.ends ? read.status : run(&settings);
    MPI_Finalize();
    return status;
}
