/* Random writes and reads of a file in all forms, each noted before and after in a journal that outlives the rank. `cargo xtask soak files` lets faults
 * happen meanwhile and holds the file against the journals.
 *
 *     files_faults FILE JOURNALS SEED STEPS LIMIT CLASS
 *
 * JOURNALS is a directory, LIMIT the longest that the file may become (0: any; SIGXFSZ is to be ignored), CLASS the error class that writes may end with ("none", "quota", "space").
 *
 * Blocks of the file belong to ranks in turn, so that what lies between two blocks of a rank is the others'. A place is counted in the rank's own blocks.
 * The ranks share a second file, FILE.shared, of records that lie wherever the shared pointer was. */
#include "check.h"
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { NOTES = 2048, ROOM = 1 << 15, LONGEST = 6000, RECORD = 200, BATCH = 3 };
enum { BEGUN = 1, DONE = 2, FAILED = 3 };

/* As the driver reads it. */
typedef struct {
    _Atomic uint64_t state;
    uint64_t place; /* or all ones, if the shared pointer knows */
    uint64_t length;
    uint64_t key;
} note;

typedef struct {
    uint64_t block, size;
    note notes[NOTES];
} journal;

static journal *book;
static uint64_t together, apart; /* what all ranks draw alike, and each for itself */
static int written, block, tolerated = MPI_SUCCESS;
static uint64_t seed;
static MPI_File blocks, bytes, records;
/* What this rank's blocks hold, where it is known. */
static unsigned char content[ROOM], known[ROOM];

static uint64_t draw(uint64_t *state, uint64_t below)
{
    uint64_t mixed = *state += 0x9e3779b97f4a7c15;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
    return (mixed ^ mixed >> 31) % below;
}

/* The byte of a write at a place. */
static unsigned char byte(uint64_t key, uint64_t place)
{
    uint64_t mixed = (key * 0x9e3779b97f4a7c15) ^ (place * 0xbf58476d1ce4e5b9);
    return (unsigned char)(((mixed ^ mixed >> 32) * 0x94d049bb133111eb) >> 56);
}

static void keep_journal(const char *folder)
{
    char name[4096];
    snprintf(name, sizeof name, "%s/%d", folder, rank);
    int file = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || ftruncate(file, sizeof(journal)) != 0) MPI_Abort(MPI_COMM_WORLD, 2);
    book = mmap(NULL, sizeof(journal), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (book == MAP_FAILED) MPI_Abort(MPI_COMM_WORLD, 2);
    close(file);
    book->block = block;
    book->size = size;
}

/* One write under way: what is written, where, and out of which memory. */
typedef struct {
    note *note;
    int place, length, gapped;
    unsigned char memory[2 * LONGEST];
} entry;

static MPI_Datatype gapped;

static MPI_Datatype layout(const entry *write) { return write->gapped ? gapped : MPI_BYTE; }

/* Draws the write and notes that it begins. */
static entry *begin_write(int place, int length, int shared)
{
    static entry all[BATCH];
    entry *write = &all[written % BATCH];
    if (written == NOTES) MPI_Abort(MPI_COMM_WORLD, 2);
    write->note = &book->notes[written];
    write->place = place;
    write->length = length;
    write->gapped = draw(&apart, 4) == 0;
    write->note->key = (seed * 64 + rank) * 65536 + written++;
    write->note->place = shared ? UINT64_MAX : (uint64_t)place;
    write->note->length = length;
    for (int i = 0; i < length; i++) write->memory[write->gapped ? 2 * i : i] = byte(write->note->key, place + i);
    atomic_store(&write->note->state, BEGUN);
    return write;
}

static void failed(int code)
{
    char text[MPI_MAX_ERROR_STRING];
    int class, length;
    MPI_Error_class(code, &class);
    if (class == tolerated) return;
    MPI_Error_string(code, text, &length);
    fprintf(stderr, "rank %d, write %d: %s\n", rank, written, text);
    MPI_Abort(MPI_COMM_WORLD, 4);
}

/* Notes how it has ended. */
static void end_write(entry *write, int code)
{
    int shared = write->note->place == UINT64_MAX;
    atomic_store(&write->note->state, code == MPI_SUCCESS ? DONE : FAILED);
    for (int i = 0; !shared && i < write->length; i++) {
        content[write->place + i] = byte(write->note->key, write->place + i);
        known[write->place + i] = code == MPI_SUCCESS;
    }
    if (code != MPI_SUCCESS) failed(code);
}

static int some_length(int most) { return 1 + (int)draw(&apart, draw(&apart, 3) ? (most < 300 ? most : 300) : most); }

/* A write somewhere in one of the parts of this rank's room. */
static entry *somewhere(int part, int parts)
{
    int room = ROOM / parts, length = some_length(LONGEST);
    return begin_write(part * room + (int)draw(&apart, room - length), length, 0);
}

static void write_one(int form)
{
    entry *write = form == 4 ? NULL : somewhere(0, 1);
    MPI_Status status;
    int code = MPI_SUCCESS, count;
    switch (form) {
    case 0: code = MPI_File_write_at(blocks, write->place, write->memory, write->length, layout(write), &status); break;
    case 1:
    case 2: code = MPI_File_write_at_all(blocks, write->place, write->memory, write->length, layout(write), &status); break;
    case 3:
        MPI_File_seek(blocks, write->place, MPI_SEEK_SET);
        code = MPI_File_write(blocks, write->memory, write->length, layout(write), &status);
        break;
    case 4: { /* a piece of one block, through the view of all bytes */
        int number = (int)draw(&apart, ROOM / block), from = (int)draw(&apart, block);
        write = begin_write(number * block + from, some_length(block - from < LONGEST ? block - from : LONGEST), 0);
        code = MPI_File_write_at(bytes, ((MPI_Offset)number * size + rank) * block + from, write->memory, write->length, layout(write),
                                 &status);
    }
    }
    if (code == MPI_SUCCESS) {
        MPI_Get_count(&status, layout(write), &count);
        SAME(count, write->length);
    }
    end_write(write, code);
}

static void write_some(int collective)
{
    MPI_Request requests[BATCH];
    entry *writes[BATCH];
    MPI_Status status;
    for (int i = 0; i < BATCH; i++) {
        entry *write = writes[i] = somewhere(i, BATCH);
        int code = collective
                       ? MPI_File_iwrite_at_all(blocks, write->place, write->memory, write->length, layout(write), &requests[i])
                       : MPI_File_iwrite_at(blocks, write->place, write->memory, write->length, layout(write), &requests[i]);
        if (code != MPI_SUCCESS) failed(code);
    }
    for (int i = 0; i < BATCH; i++) end_write(writes[i], MPI_Wait(&requests[i], &status));
}

static void write_record(int ordered)
{
    entry *write = begin_write(0, RECORD, 1);
    end_write(write, ordered ? MPI_File_write_ordered(records, write->memory, RECORD, layout(write), MPI_STATUS_IGNORE)
                             : MPI_File_write_shared(records, write->memory, RECORD, layout(write), MPI_STATUS_IGNORE));
}

static void read_back(int collective)
{
    static unsigned char found[LONGEST];
    MPI_Status status;
    int length = some_length(LONGEST), place = (int)draw(&apart, ROOM - length), count = 0;
    int code = collective ? MPI_File_read_at_all(blocks, place, found, length, MPI_BYTE, &status)
                          : MPI_File_read_at(blocks, place, found, length, MPI_BYTE, &status);
    if (code != MPI_SUCCESS) failed(code);
    MPI_Get_count(&status, MPI_BYTE, &count);
    for (int i = 0; i < length; i++) CHECK(!known[place + i] || (i < count && found[i] == content[place + i]));
}

static MPI_Info hints(void)
{
    static const char *switches[] = {"automatic", "enable", "disable"};
    char number[16];
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_cb_write", switches[draw(&together, 3)]);
    MPI_Info_set(info, "romio_ds_write", switches[draw(&together, 3)]);
    snprintf(number, sizeof number, "%d", 1 << (9 + (int)draw(&together, 8)));
    MPI_Info_set(info, "cb_buffer_size", number);
    MPI_Info_set(info, "ind_wr_buffer_size", number);
    return info;
}

int main(int argc, char **argv)
{
    char second[4096];
    MPI_Datatype own;
    MPI_Info info;
    begin(&argc, &argv);
    if (argc != 7) MPI_Abort(MPI_COMM_WORLD, 2);
    seed = strtoull(argv[3], NULL, 10);
    together = seed;
    apart = seed ^ (uint64_t)(rank + 1) << 32;
    block = 1 << (3 + draw(&together, 10));
    keep_journal(argv[2]);
    if (!strcmp(argv[6], "quota")) tolerated = MPI_ERR_QUOTA;
    if (!strcmp(argv[6], "space")) tolerated = MPI_ERR_NO_SPACE;
    snprintf(second, sizeof second, "%s.shared", argv[1]);
    info = hints();
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
    SAME(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_RDWR | MPI_MODE_CREATE, info, &blocks), MPI_SUCCESS);
    /* Gaps are not written back while a view without gaps is there, too. */
    bytes = MPI_FILE_NULL;
    if (draw(&together, 2)) SAME(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_RDWR, info, &bytes), MPI_SUCCESS);
    SAME(MPI_File_open(MPI_COMM_WORLD, second, MPI_MODE_WRONLY | MPI_MODE_CREATE, info, &records), MPI_SUCCESS);
    MPI_Info_free(&info);
    MPI_Type_create_resized(MPI_BYTE, 0, 2, &gapped);
    MPI_Type_commit(&gapped);
    MPI_Type_vector(1, block, 0, MPI_BYTE, &own);
    {
        MPI_Datatype bare = own;
        MPI_Type_create_resized(bare, 0, (MPI_Aint)block * size, &own);
        MPI_Type_free(&bare);
    }
    MPI_Type_commit(&own);
    MPI_File_set_view(blocks, (MPI_Offset)rank * block, MPI_BYTE, own, "native", MPI_INFO_NULL);
    MPI_Type_free(&own);
    if (draw(&together, 3) == 0) {
        MPI_File_set_atomicity(blocks, 1);
        if (bytes != MPI_FILE_NULL) MPI_File_set_atomicity(bytes, 1);
    }
    if (atol(argv[5])) {
        struct rlimit limit = {atol(argv[5]), atol(argv[5])};
        SAME(setrlimit(RLIMIT_FSIZE, &limit), 0);
    }
    for (int step = 0, steps = atoi(argv[4]); step < steps && !failures; step++) {
        int form = (int)draw(&together, 13);
        if (form == 4 && bytes == MPI_FILE_NULL) form = 3;
        if (form < 5) write_one(form);
        else if (form < 7) write_some(form == 6);
        else if (form < 9) read_back(form == 8);
        else if (form < 11) write_record(form == 10);
        else if (form == 11) write_one(1);
        else MPI_File_sync(blocks);
    }
    MPI_Type_free(&gapped);
    SAME(MPI_File_close(&records), MPI_SUCCESS);
    if (bytes != MPI_FILE_NULL) SAME(MPI_File_close(&bytes), MPI_SUCCESS);
    SAME(MPI_File_close(&blocks), MPI_SUCCESS);
    return conclude();
}
