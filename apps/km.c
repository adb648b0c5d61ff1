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
 * Prints app=km variant= ranks= clusters= points= check= rounds= result=CHECKSUM time= cycles=. The checksum is made of the bits
 * of the last centroids. Checked is the last round against a serial one over all points, or with --check full every round. */
#include "common/compute.h"
#include "common/random.h"
#include "common/suite.h"

enum { POINTS_PER_CLUSTER = 13440, CENTROIDS = 128, COORDINATES = 65536, NO_CENTROID = -1 };
enum { CYCLES_PER_DISTANCE = 20, CYCLES_PER_ADDITION = 10, CYCLES_PER_AVERAGE = 50 };

typedef struct {
    float x, y;
} Point;

static int rounds_most = 131;

static bool lead(Run *run);
static void lead_cluster(Run *run);
static void work(Run *run);

static const Suite k_means = {
    .name = "km",
    .about = "km: k-means clustering",
    .things = "points",
    .share = POINTS_PER_CLUSTER,
    .share_most = COORDINATES,
    .lead = lead,
    .lead_cluster = lead_cluster,
    .work = work,
};

int main(int argc, char **argv)
{
    Option rounds = {.name = "--rounds",
                     .kind = OPTION_POSITIVE,
                     .value = &rounds_most,
                     .help = "end after so many at most (131)"};
    return suite_main(argc, argv, &k_means, &rounds);
}

/* What a group of points says about the centroids. */
typedef struct {
    uint32_t sums[CENTROIDS][2]; /* of coordinates: exact for 65536 points */
    int32_t populations[CENTROIDS];
    int32_t changed;
} Partial;

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
static void serial_round(const Run *run, int64_t points, Point *centroids)
{
    Total total = {0};
    for (int64_t i = 0; i < points; i++) {
        Point point = point_at(run->seed, (uint64_t)i);
        int centroid = nearest(centroids, point);
        total.sums[centroid][0] += (uint64_t)point.x;
        total.sums[centroid][1] += (uint64_t)point.y;
        total.populations[centroid]++;
    }
    average(&total, centroids);
}

static bool centroids_are_right(const Run *run, int64_t points, int rounds, const Point *before, const Point *found)
{
    Point centroids[CENTROIDS];
    int again = run->check == CHECK_SAMPLED ? 1 : rounds;
    for (int c = 0; c < CENTROIDS; c++) centroids[c] = run->check == CHECK_SAMPLED ? before[c] : first_centroid(run->seed, c);
    for (int round = 0; round < again; round++) serial_round(run, points, centroids);
    return memcmp(centroids, found, sizeof centroids) == 0;
}

/* Takes everybody's sums and makes the next centroids. Whether a point has changed. */
static bool lead_round(Run *run, Point *centroids)
{
    Total total = {0};
    for (int c = 0; c < run->place.clusters; c++) {
        Partial partial;
        receive_partial(&run->channel, local_master_of(c), &partial);
        add_to_total(&total, &partial);
    }
    average(&total, centroids);
    declare_cycles((int64_t)CENTROIDS * (run->place.clusters * CYCLES_PER_ADDITION + CYCLES_PER_AVERAGE));
    return total.changed;
}

static bool lead(Run *run)
{
    int rounds = 0;
    Point centroids[CENTROIDS], before[CENTROIDS];
    for (int c = 0; c < CENTROIDS; c++) centroids[c] = first_centroid(run->seed, c);

    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    for (int c = 0; c < run->place.clusters; c++) {
        channel_send_int(&run->channel, local_master_of(c), slaves_of(&run->place, c));
        channel_send_int(&run->channel, local_master_of(c), run->share);
        channel_send(&run->channel, local_master_of(c), centroids, sizeof centroids);
    }
    for (bool again = true; again;) {
        memcpy(before, centroids, sizeof before);
        rounds++;
        again = lead_round(run, centroids) && rounds < rounds_most;
        for (int c = 0; c < run->place.clusters; c++) {
            channel_send_int(&run->channel, local_master_of(c), again);
            if (again) channel_send(&run->channel, local_master_of(c), centroids, sizeof centroids);
        }
    }
    double seconds = MPI_Wtime() - begin;

    int64_t points = (int64_t)run->share * run->place.clusters;
    bool right = centroids_are_right(run, points, rounds, before, centroids);
    suite_report(run, &k_means, right);
    printf(" rounds=%d result=%016llx", rounds, (unsigned long long)bits_of(centroids));
    report_time(seconds, run->mhz);
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

static void lead_cluster(Run *run)
{
    MPI_Barrier(MPI_COMM_WORLD);
    Point centroids[CENTROIDS];
    int workers = channel_receive_int(&run->channel, GLOBAL_MASTER) + 1;
    int count = channel_receive_int(&run->channel, GLOBAL_MASTER);
    channel_receive(&run->channel, GLOBAL_MASTER, centroids, sizeof centroids);

    Point *points = room((size_t)count, sizeof *points);
    int32_t *assigned = room((size_t)count, sizeof *assigned);
    for (int i = 0; i < count; i++) {
        points[i] = point_at(run->seed, (uint64_t)run->place.cluster * (uint64_t)count + (uint64_t)i);
        assigned[i] = NO_CENTROID;
    }
    /* Part 0 is my own, part i that of slave i. */
    for (int i = 1; i < workers; i++) {
        int begin = (int)part_begin(count, workers, i), length = (int)part_begin(count, workers, i + 1) - begin;
        channel_send_int(&run->channel, run->place.rank + i, run->place.rank);
        channel_send_int(&run->channel, run->place.rank + i, length);
        channel_send(&run->channel, run->place.rank + i, points + begin, length * (int64_t)sizeof *points);
        channel_send(&run->channel, run->place.rank + i, assigned + begin, length * (int64_t)sizeof *assigned);
        channel_send(&run->channel, run->place.rank + i, centroids, sizeof centroids);
    }
    int own = (int)part_begin(count, workers, 1);
    Partial *mine = room(1, sizeof *mine), *other = room(1, sizeof *other);
    for (int again = 1; again;) {
        assign_points(points, assigned, own, centroids, mine);
        for (int i = 1; i < workers; i++) {
            receive_partial(&run->channel, run->place.rank + i, other);
            add_to_partial(mine, other);
        }
        send_partial(&run->channel, GLOBAL_MASTER, mine);
        again = channel_receive_int(&run->channel, GLOBAL_MASTER);
        if (again) channel_receive(&run->channel, GLOBAL_MASTER, centroids, sizeof centroids);
        for (int i = 1; i < workers; i++) {
            channel_send_int(&run->channel, run->place.rank + i, again);
            if (again) channel_send(&run->channel, run->place.rank + i, centroids, sizeof centroids);
        }
    }
    for (int i = 1; i < workers; i++) {
        int begin = (int)part_begin(count, workers, i), length = (int)part_begin(count, workers, i + 1) - begin;
        channel_receive(&run->channel, run->place.rank + i, assigned + begin, length * (int64_t)sizeof *assigned);
    }
    free(points);
    free(assigned);
    free(mine);
    free(other);
}

static void work(Run *run)
{
    MPI_Barrier(MPI_COMM_WORLD);
    Point centroids[CENTROIDS];
    int master = channel_receive_int(&run->channel, local_master_of(run->place.cluster));
    int count = channel_receive_int(&run->channel, master);
    Point *points = room((size_t)count, sizeof *points);
    int32_t *assigned = room((size_t)count, sizeof *assigned);
    Partial *mine = room(1, sizeof *mine);
    channel_receive(&run->channel, master, points, count * (int64_t)sizeof *points);
    channel_receive(&run->channel, master, assigned, count * (int64_t)sizeof *assigned);
    channel_receive(&run->channel, master, centroids, sizeof centroids);
    for (int again = 1; again;) {
        assign_points(points, assigned, count, centroids, mine);
        send_partial(&run->channel, master, mine);
        again = channel_receive_int(&run->channel, master);
        if (again) channel_receive(&run->channel, master, centroids, sizeof centroids);
    }
    channel_send(&run->channel, master, assigned, count * (int64_t)sizeof *assigned);
    free(points);
    free(assigned);
    free(mine);
}
