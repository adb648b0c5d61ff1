/* GF: a Gaussian filter over many images.
 *
 * After the GF of CAP Bench as LWMPI's authors run it: 1200 images a cluster, 256 x 256 bytes with a halo of 3 (262 x 262 are
 * sent), a 7 x 7 mask with a standard deviation of 0.8. The global master hands images to the local masters in turn and takes a
 * filtered one back from a cluster before it sends the next there; a local master cuts its image into 64 x 64 chunks (70 x 70
 * with halo), hands them to its slaves in turn and takes a filtered chunk back from a slave before it sends the next there.
 *
 * Law of the declared work:
 *     5 cycles a tap of the mask (load pixel, convert, load weight, multiply-add whose result the next one waits for);
 *     10 a pixel (loops, clamp, store);
 *     chunks are cut out and put in place by copies, at the cost of a copy (common/compute.h).
 * Making the images is the camera's work and not declared, as the suite leaves it out of its measured time.
 *
 * Prints app=gf variant= ranks= clusters= images= check= result=CHECKSUM time= cycles=. The checksum is the sum of all filtered
 * pixels. Checked are some pixels of each image, or with --check full all.                                        */
#include <math.h>

#include "common/channel.h"
#include "common/compute.h"
#include "common/options.h"
#include "common/random.h"
#include "common/report.h"
#include "common/roles.h"

enum { IMAGES_PER_CLUSTER = 1200, SAMPLES_PER_IMAGE = 4 };
enum { MASK = 7, HALF = MASK / 2, TAPS = MASK * MASK };
enum { IMAGE = 256, IMAGE_AND_HALO = IMAGE + MASK - 1, IMAGE_BYTES = IMAGE_AND_HALO * IMAGE_AND_HALO };
enum { CHUNK = 64, CHUNK_AND_HALO = CHUNK + MASK - 1, CHUNKS_ACROSS = IMAGE / CHUNK, CHUNKS = CHUNKS_ACROSS * CHUNKS_ACROSS };
enum { CHUNK_SENT = CHUNK_AND_HALO * CHUNK_AND_HALO, CHUNK_RETURNED = CHUNK * CHUNK };
enum { CYCLES_PER_TAP = 5, CYCLES_PER_PIXEL = 10 };
enum { WORK_FOLLOWS = 1, NO_MORE_WORK = 0 }; /* the word before an image or a chunk */
static const double STANDARD_DEVIATION = 0.8;

typedef unsigned char Pixel;

typedef struct {
    bool ipc;
    int check;
    double scale, mhz;
    uint64_t seed;
} Settings;

static void make_mask(float *mask)
{
    double sum = 0, weights[TAPS];
    for (int row = 0; row < MASK; row++)
        for (int column = 0; column < MASK; column++) {
            int squares = (row - HALF) * (row - HALF) + (column - HALF) * (column - HALF);
            double weight = exp(-squares / (2 * STANDARD_DEVIATION * STANDARD_DEVIATION));
            weights[row * MASK + column] = weight;
            sum += weight;
        }
    for (int tap = 0; tap < TAPS; tap++) mask[tap] = (float)(weights[tap] / sum);
}

/* Pixel of the image with halo, the same whenever it is asked for: eight pixels come from one random number. */
static Pixel original(uint64_t seed, int image, int row, int column)
{
    uint64_t index = (uint64_t)image * IMAGE_BYTES + (uint64_t)row * IMAGE_AND_HALO + (uint64_t)column;
    return (Pixel)(random_at(seed, index / 8) >> (index % 8 * 8));
}

static void make_image(uint64_t seed, int image, Pixel *pixels)
{
    for (int row = 0; row < IMAGE_AND_HALO; row++)
        for (int column = 0; column < IMAGE_AND_HALO; column++)
            pixels[row * IMAGE_AND_HALO + column] = original(seed, image, row, column);
}

static Pixel clamp(float value) { return value > 255 ? 255 : (Pixel)value; }

/* The inner loop goes along a row of the chunk, so that a host does many pixels at once; the taps of a pixel are added in
 * the order of the mask all the same. */
static void filter_chunk(const Pixel *chunk, const float *mask, Pixel *filtered)
{
    float values[CHUNK_AND_HALO][CHUNK_AND_HALO];
    for (int row = 0; row < CHUNK_AND_HALO; row++)
        for (int column = 0; column < CHUNK_AND_HALO; column++) values[row][column] = chunk[row * CHUNK_AND_HALO + column];
    for (int row = 0; row < CHUNK; row++) {
        float sums[CHUNK] = {0};
        for (int tap = 0; tap < TAPS; tap++) {
            const float *pixels = &values[row + tap / MASK][tap % MASK];
            for (int column = 0; column < CHUNK; column++) sums[column] += pixels[column] * mask[tap];
        }
        for (int column = 0; column < CHUNK; column++) filtered[row * CHUNK + column] = clamp(sums[column]);
    }
    declare_cycles((int64_t)CHUNK_RETURNED * (TAPS * CYCLES_PER_TAP + CYCLES_PER_PIXEL));
}

/* One pixel from the definition. A grey level of difference is allowed: hosts may fuse multiplication and addition. */
static bool pixel_is_right(const Settings *settings, const float *mask, int image, int row, int column, Pixel found)
{
    double sum = 0;
    for (int tap = 0; tap < TAPS; tap++)
        sum += mask[tap] * (double)original(settings->seed, image, row + tap / MASK, column + tap % MASK);
    return fabs(floor(sum) - found) <= 1;
}

static bool image_is_right(const Settings *settings, const float *mask, int image, const Pixel *filtered)
{
    int pixels = settings->check == 0 ? SAMPLES_PER_IMAGE : IMAGE * IMAGE;
    for (int i = 0; i < pixels; i++) {
        int at = settings->check == 0 ? (int)(random_at(~settings->seed, (uint64_t)image * SAMPLES_PER_IMAGE + (uint64_t)i) %
                                              (IMAGE * IMAGE))
                                      : i;
        int row = at / IMAGE, column = at % IMAGE;
        Pixel found = filtered[(row + HALF) * IMAGE_AND_HALO + column + HALF];
        if (!pixel_is_right(settings, mask, image, row, column, found)) return false;
    }
    return true;
}

static uint64_t sum_of(const Pixel *image)
{
    uint64_t sum = 0;
    for (int row = 0; row < IMAGE; row++)
        for (int column = 0; column < IMAGE; column++) sum += image[(row + HALF) * IMAGE_AND_HALO + column + HALF];
    return sum;
}

/* Images are numbered; number i goes to cluster i mod clusters. Whether the result holds. */
static bool lead(const Place *place, Channel *channel, const Settings *settings)
{
    float mask[TAPS];
    make_mask(mask);
    int images = (int)(IMAGES_PER_CLUSTER * settings->scale + 0.5) * place->clusters;
    Pixel *image = room(IMAGE_BYTES, 1);

    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    for (int c = 0; c < place->clusters; c++) {
        channel_send_int(channel, local_master_of(c), slaves_of(place, c));
        channel_send(channel, local_master_of(c), mask, sizeof mask);
    }
    uint64_t sum = 0;
    bool right = true;
    for (int sent = 0, received = 0; received < images;) {
        int master = local_master_of((sent < images ? sent : received) % place->clusters);
        if (sent >= place->clusters || sent == images) {
            channel_receive(channel, master, image, IMAGE_BYTES);
            sum += sum_of(image);
            right = right && image_is_right(settings, mask, received++, image);
        }
        if (sent < images) {
            make_image(settings->seed, sent++, image);
            channel_send_int(channel, master, WORK_FOLLOWS);
            channel_send(channel, master, image, IMAGE_BYTES);
        }
    }
    for (int c = 0; c < place->clusters; c++) channel_send_int(channel, local_master_of(c), NO_MORE_WORK);
    double seconds = MPI_Wtime() - begin;

    printf("app=gf variant=%s ranks=%d clusters=%d images=%d check=%s result=%llu", channel_variant(channel), place->ranks,
           place->clusters, images, right ? "passed" : "failed", (unsigned long long)sum);
    report_time(seconds, settings->mhz);
    free(image);
    return right;
}

/* Copies a square out of or into a larger one. */
static void copy_square(Pixel *to, int to_width, const Pixel *from, int from_width, int side)
{
    for (int row = 0; row < side; row++) memcpy(to + row * to_width, from + row * from_width, (size_t)side);
    declare_copy((int64_t)side * side);
}

static Pixel *chunk_with_halo(Pixel *image, int chunk)
{
    return image + chunk / CHUNKS_ACROSS * CHUNK * IMAGE_AND_HALO + chunk % CHUNKS_ACROSS * CHUNK;
}

static Pixel *chunk_without_halo(Pixel *image, int chunk)
{
    return chunk_with_halo(image, chunk) + HALF * IMAGE_AND_HALO + HALF;
}

static void filter_image(const Place *place, Channel *channel, int slaves, Pixel *image, Pixel *filtered, Pixel *chunk)
{
    for (int sent = 0, received = 0; received < CHUNKS;) {
        int slave = place->rank + 1 + (sent < CHUNKS ? sent : received) % slaves;
        if (sent >= slaves || sent == CHUNKS) {
            channel_receive(channel, slave, chunk, CHUNK_RETURNED);
            copy_square(chunk_without_halo(filtered, received++), IMAGE_AND_HALO, chunk, CHUNK, CHUNK);
        }
        if (sent < CHUNKS) {
            copy_square(chunk, CHUNK_AND_HALO, chunk_with_halo(image, sent++), IMAGE_AND_HALO, CHUNK_AND_HALO);
            channel_send_int(channel, slave, WORK_FOLLOWS);
            channel_send(channel, slave, chunk, CHUNK_SENT);
        }
    }
}

static void lead_cluster(const Place *place, Channel *channel)
{
    float mask[TAPS];
    Pixel *image = room(IMAGE_BYTES, 1), *filtered = room(IMAGE_BYTES, 1), *chunk = room(CHUNK_SENT, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    int slaves = channel_receive_int(channel, GLOBAL_MASTER);
    channel_receive(channel, GLOBAL_MASTER, mask, sizeof mask);
    for (int i = 1; i <= slaves; i++) {
        channel_send_int(channel, place->rank + i, place->rank);
        channel_send(channel, place->rank + i, mask, sizeof mask);
    }
    while (channel_receive_int(channel, GLOBAL_MASTER) == WORK_FOLLOWS) {
        channel_receive(channel, GLOBAL_MASTER, image, IMAGE_BYTES);
        filter_image(place, channel, slaves, image, filtered, chunk);
        channel_send(channel, GLOBAL_MASTER, filtered, IMAGE_BYTES);
    }
    for (int i = 1; i <= slaves; i++) channel_send_int(channel, place->rank + i, NO_MORE_WORK);
    free(image);
    free(filtered);
    free(chunk);
}

static void work(const Place *place, Channel *channel)
{
    float mask[TAPS];
    Pixel *chunk = room(CHUNK_SENT, 1), *filtered = room(CHUNK_RETURNED, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    int master = channel_receive_int(channel, local_master_of(place->cluster));
    channel_receive(channel, master, mask, sizeof mask);
    while (channel_receive_int(channel, master) == WORK_FOLLOWS) {
        channel_receive(channel, master, chunk, CHUNK_SENT);
        filter_chunk(chunk, mask, filtered);
        channel_send(channel, master, filtered, CHUNK_RETURNED);
    }
    free(chunk);
    free(filtered);
}

static int run(const Settings *settings)
{
    Place place = place_of_this_rank();
    if (!every_cluster_has_slaves(&place, 1) || IMAGES_PER_CLUSTER * settings->scale < 0.5) {
        if (place.rank == 0) fprintf(stderr, "gf: needs a slave in every cluster of 12 ranks and an image a cluster\n");
        return 2;
    }
    Channel channel = channel_open(settings->ipc);
    int status = 0;
    switch (place.role) {
    case ROLE_GLOBAL_MASTER: status = lead(&place, &channel, settings) ? 0 : 1; break;
    case ROLE_LOCAL_MASTER: lead_cluster(&place, &channel); break;
    case ROLE_SLAVE: work(&place, &channel); break;
    }
    channel_close(&channel);
    return status;
}

int main(int argc, char **argv)
{
    Settings settings = {.scale = 1, .mhz = ANDEY_MHZ, .seed = 1};
    const Option options[] = {
        {.name = "--ipc", .kind = OPTION_FLAG, .value = &settings.ipc, .help = "raw mailboxes and portals instead of MPI"},
        {.name = "--scale", .kind = OPTION_FRACTION, .value = &settings.scale, .help = "part of 1200 images a cluster (1)"},
        {.name = "--check", .kind = OPTION_CHOICE, .value = &settings.check, .help = "pixels checked", .words = "sampled|full"},
        {.name = "--seed", .kind = OPTION_SEED, .value = &settings.seed, .help = "of the images (1)"},
        {.name = "--mhz", .kind = OPTION_FRACTION, .value = &settings.mhz, .help = "clock for cycles= (400)"},
    };
    MPI_Init(&argc, &argv);
    OptionsRead read = options_read(argc, argv, "gf: Gaussian filter", options, sizeof options / sizeof *options);
    int status = read.ends ? read.status : run(&settings);
    MPI_Finalize();
    return status;
}
