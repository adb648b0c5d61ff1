/* Scattered data between ranks 0 and 1, each sent (half of a round trip, by type on both sides) and packed (MPI_Pack): types-NAME/send, types-NAME/pack
 *   column    512 doubles, each from its own row of a matrix
 *   face      96 by 96 doubles across the last dimension of a cube
 *   structs   4096 of three doubles, an int, a char and a double, with padding
 *   indexed   8192 doubles from an irregular list of places */
#include "measure.h"
#include <stddef.h>

enum { SIDE = 512, CUBE = 96, PARTICLES = 4096, LISTED = 8192 };

struct particle {
    double position[3];
    int kind;
    char flag;
    double mass;
};

static double *room;
static char *packed;
static MPI_Datatype type;
static int count;

static double round_trip(int bytes, int trips)
{
    (void)bytes;
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    for (int trip = 0; trip < trips; trip++) {
        if (me == 0) MPI_Send(room, count, type, 1, 0, MPI_COMM_WORLD);
        if (me < 2) MPI_Recv(room, count, type, !me, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (me == 1) MPI_Send(room, count, type, 0, 0, MPI_COMM_WORLD);
    }
    return (MPI_Wtime() - begin) / trips;
}

static double pack(int bytes, int times)
{
    double begin = MPI_Wtime();
    for (int i = 0; i < times; i++) {
        int position = 0;
        MPI_Pack(room, count, type, packed, bytes + 1024, &position, MPI_COMM_WORLD);
    }
    return (MPI_Wtime() - begin) / times;
}

/* Takes the type away again. */
static void measure(const char *name, int items, int times)
{
    char title[64];
    int bytes;
    count = items;
    MPI_Type_commit(&type);
    MPI_Type_size(type, &bytes);
    bytes *= count;
    snprintf(title, sizeof title, "types-%s/send", name);
    figure(title, bytes, best_of(round_trip, bytes, repetitions(times)) / 2 * 1e6, "us");
    snprintf(title, sizeof title, "types-%s/pack", name);
    figure(title, bytes, best_of(pack, bytes, repetitions(times)) * 1e6, "us");
    MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    get_ready(argc, argv);
    room = calloc((size_t)CUBE * CUBE * CUBE, sizeof *room);
    packed = malloc(1 << 20);

    MPI_Type_vector(SIDE, 1, SIDE, MPI_DOUBLE, &type);
    measure("column", 1, 2000);

    int whole[] = {CUBE, CUBE, CUBE}, part[] = {CUBE, CUBE, 1}, start[] = {0, 0, 1};
    MPI_Type_create_subarray(3, whole, part, start, MPI_ORDER_C, MPI_DOUBLE, &type);
    measure("face", 1, 500);

    MPI_Datatype fields;
    int lengths[] = {3, 1, 1, 1};
    MPI_Aint places[] = {offsetof(struct particle, position), offsetof(struct particle, kind), offsetof(struct particle, flag), offsetof(struct particle, mass)};
    MPI_Datatype kinds[] = {MPI_DOUBLE, MPI_INT, MPI_CHAR, MPI_DOUBLE};
    MPI_Type_create_struct(4, lengths, places, kinds, &fields);
    MPI_Type_create_resized(fields, 0, sizeof(struct particle), &type);
    MPI_Type_free(&fields);
    measure("structs", PARTICLES, 500);

    int *list = malloc(LISTED * sizeof *list);
    for (int i = 0; i < LISTED; i++) list[i] = i * 9 + i % 7;
    MPI_Type_create_indexed_block(LISTED, 1, list, MPI_DOUBLE, &type);
    measure("indexed", 1, 500);
    free(list);

    free(room);
    free(packed);
    MPI_Finalize();
    return 0;
}
