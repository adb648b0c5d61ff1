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

#include "common/compute.h"
#include "common/random.h"
#include "common/suite.h"

enum { IMAGES_PER_CLUSTER = 1200, IMAGES_MOST = 1 << 20, SAMPLES_PER_IMAGE = 4 };
enum { MASK = 7, HALF = MASK / 2, TAPS = MASK * MASK };
enum { IMAGE = 256, IMAGE_AND_HALO = IMAGE + MASK - 1, IMAGE_BYTES = IMAGE_AND_HALO * IMAGE_AND_HALO };
enum { CHUNK = 64, CHUNK_AND_HALO = CHUNK + MASK - 1, CHUNKS_ACROSS = IMAGE / CHUNK, CHUNKS = CHUNKS_ACROSS * CHUNKS_ACROSS };
enum { CHUNK_SENT = CHUNK_AND_HALO * CHUNK_AND_HALO, CHUNK_RETURNED = CHUNK * CHUNK };
enum { CYCLES_PER_TAP = 5, CYCLES_PER_PIXEL = 10 };
enum { WORK_FOLLOWS = 1, NO_MORE_WORK = 0 }; /* the word before an image or a chunk */
static const double STANDARD_DEVIATION = 0.8;

typedef unsigned char Pixel;

static bool lead(Run *run);
static void lead_cluster(Run *run);
static void work(Run *run);

static const Suite gaussian_filter = {
    .name = "gf",
    .about = "gf: Gaussian filter",
    .things = "images",
    .share = IMAGES_PER_CLUSTER,
    .share_most = IMAGES_MOST,
    .slaves_least = 1,
    .lead = lead,
    .lead_cluster = lead_cluster,
    .work = work,
};

int main(int argc, char **argv) { return suite_main(argc, argv, &gaussian_filter, NULL); }

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

/* Eight pixels of an image with halo come from one random number, so that any of them can be asked for again. */
static uint64_t eight_pixels(uint64_t seed, int image, int group)
{
    enum { GROUPS = (IMAGE_BYTES + 7) / 8 };
    return random_at(seed, (uint64_t)image * GROUPS + (uint64_t)group);
}

static Pixel original(uint64_t seed, int image, int row, int column)
{
    int at = row * IMAGE_AND_HALO + column;
    return (Pixel)(eight_pixels(seed, image, at / 8) >> (at % 8 * 8));
}

static void make_image(uint64_t seed, int image, Pixel *pixels)
{
    for (int at = 0; at < IMAGE_BYTES; at += 8) {
        uint64_t eight = eight_pixels(seed, image, at / 8);
        for (int i = 0; i < 8 && at + i < IMAGE_BYTES; i++) pixels[at + i] = (Pixel)(eight >> (i * 8));
    }
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

/* One pixel from the definition, which is cut off to a whole grey level. Single precision may be wrong by less than the slack. */
static bool pixel_is_right(const Run *run, const float *mask, int image, int row, int column, Pixel found)
{
    double sum = 0;
    for (int tap = 0; tap < TAPS; tap++)
        sum += mask[tap] * (double)original(run->seed, image, row + tap / MASK, column + tap % MASK);
    const double slack = 0.01;
    return found < sum + slack && found > sum - 1 - slack;
}

static int sampled_pixel(uint64_t seed, int image, int sample)
{
    uint64_t index = (uint64_t)image * SAMPLES_PER_IMAGE + (uint64_t)sample;
    return (int)(random_at(~seed, index) % (IMAGE * IMAGE));
}

static bool image_is_right(const Run *run, const float *mask, int image, const Pixel *filtered)
{
    int pixels = run->check == CHECK_SAMPLED ? SAMPLES_PER_IMAGE : IMAGE * IMAGE;
    for (int i = 0; i < pixels; i++) {
        int at = run->check == CHECK_SAMPLED ? sampled_pixel(run->seed, image, i) : i;
        int row = at / IMAGE, column = at % IMAGE;
        Pixel found = filtered[(row + HALF) * IMAGE_AND_HALO + column + HALF];
        if (!pixel_is_right(run, mask, image, row, column, found)) return false;
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

/* Images are numbered; number i goes to cluster i mod clusters. */
static bool lead(Run *run)
{
    float mask[TAPS];
    make_mask(mask);
    int images = run->share * run->place.clusters;
    Pixel *image = room(IMAGE_BYTES, 1);

    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    for (int c = 0; c < run->place.clusters; c++) {
        channel_send_int(&run->channel, local_master_of(c), slaves_of(&run->place, c));
        channel_send(&run->channel, local_master_of(c), mask, sizeof mask);
    }
    uint64_t sum = 0;
    bool right = true;
    for (int sent = 0, received = 0; received < images;) {
        int master = local_master_of((sent < images ? sent : received) % run->place.clusters);
        if (sent >= run->place.clusters || sent == images) {
            channel_receive(&run->channel, master, image, IMAGE_BYTES);
            sum += sum_of(image);
            right = image_is_right(run, mask, received++, image) && right;
        }
        if (sent < images) {
            make_image(run->seed, sent++, image);
            channel_send_int(&run->channel, master, WORK_FOLLOWS);
            channel_send(&run->channel, master, image, IMAGE_BYTES);
        }
    }
    for (int c = 0; c < run->place.clusters; c++) channel_send_int(&run->channel, local_master_of(c), NO_MORE_WORK);
    double seconds = MPI_Wtime() - begin;

    suite_report(run, &gaussian_filter, right);
    printf(" result=%llu", (unsigned long long)sum);
    report_time(seconds, run->mhz);
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

static void filter_image(Run *run, int slaves, Pixel *image, Pixel *filtered, Pixel *chunk)
{
    for (int sent = 0, received = 0; received < CHUNKS;) {
        int slave = run->place.rank + 1 + (sent < CHUNKS ? sent : received) % slaves;
        if (sent >= slaves || sent == CHUNKS) {
            channel_receive(&run->channel, slave, chunk, CHUNK_RETURNED);
            copy_square(chunk_without_halo(filtered, received++), IMAGE_AND_HALO, chunk, CHUNK, CHUNK);
        }
        if (sent < CHUNKS) {
            copy_square(chunk, CHUNK_AND_HALO, chunk_with_halo(image, sent++), IMAGE_AND_HALO, CHUNK_AND_HALO);
            channel_send_int(&run->channel, slave, WORK_FOLLOWS);
            channel_send(&run->channel, slave, chunk, CHUNK_SENT);
        }
    }
}

static void lead_cluster(Run *run)
{
    float mask[TAPS];
    Pixel *image = room(IMAGE_BYTES, 1), *filtered = room(IMAGE_BYTES, 1), *chunk = room(CHUNK_SENT, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    int slaves = channel_receive_int(&run->channel, GLOBAL_MASTER);
    channel_receive(&run->channel, GLOBAL_MASTER, mask, sizeof mask);
    for (int i = 1; i <= slaves; i++) {
        channel_send_int(&run->channel, run->place.rank + i, run->place.rank);
        channel_send(&run->channel, run->place.rank + i, mask, sizeof mask);
    }
    while (channel_receive_int(&run->channel, GLOBAL_MASTER) == WORK_FOLLOWS) {
        channel_receive(&run->channel, GLOBAL_MASTER, image, IMAGE_BYTES);
        filter_image(run, slaves, image, filtered, chunk);
        channel_send(&run->channel, GLOBAL_MASTER, filtered, IMAGE_BYTES);
    }
    for (int i = 1; i <= slaves; i++) channel_send_int(&run->channel, run->place.rank + i, NO_MORE_WORK);
    free(image);
    free(filtered);
    free(chunk);
}

static void work(Run *run)
{
    float mask[TAPS];
    Pixel *chunk = room(CHUNK_SENT, 1), *filtered = room(CHUNK_RETURNED, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    int master = channel_receive_int(&run->channel, local_master_of(run->place.cluster));
    channel_receive(&run->channel, master, mask, sizeof mask);
    while (channel_receive_int(&run->channel, master) == WORK_FOLLOWS) {
        channel_receive(&run->channel, master, chunk, CHUNK_SENT);
        filter_chunk(chunk, mask, filtered);
        channel_send(&run->channel, master, filtered, CHUNK_RETURNED);
    }
    free(chunk);
    free(filtered);
}
