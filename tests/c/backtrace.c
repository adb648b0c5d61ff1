/* Three ranks, of which the last but one crashes some calls deep. The first argument says where: inside, library, abort or recursion. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline, noclone))

static volatile int sink;

static APART void inner(const char *how, char *nowhere, int size)
{
    char *volatile start = nowhere;
    if (!strcmp(how, "inside")) *(volatile char *)start = 1; /* inside */
    if (!strcmp(how, "library")) memset(start, 1, size);     /* library */
    if (!strcmp(how, "abort")) abort();                      /* abort */
    sink++;
}

static APART int deeper(int depth)
{
    volatile char room[1000];
    room[depth % 1000] = 1;
    int below = deeper(depth + 1); /* recursion */
    sink += room[1];
    return below + room[depth % 7];
}

static APART void middle(const char *how, int size)
{
    char copy[size]; /* a frame that only a register knows the end of */
    memset(copy, 0, size);
    inner(how, (char *)(size_t)8, size); /* middle */
    sink += copy[sink % size];
}

int main(int argc, char **argv)
{
    int rank, size;
    const char *how = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == size - 2) {
        if (!strcmp(how, "recursion")) sink += deeper(0);
        middle(how, 100 + argc); /* main */
        sink++;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
