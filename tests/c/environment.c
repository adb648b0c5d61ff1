/* What a rank learns of itself: versions, names, time, threads, arguments, memory; and the life of MPI in it. */
#include "check.h"

int main(int argc, char **argv)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING], name[MPI_MAX_PROCESSOR_NAME];
    int flag, provided, version, subversion, length;
    MPI_Initialized(&flag);
    CHECK(!flag);
    MPI_Finalized(&flag);
    CHECK(!flag);
    MPI_Get_version(&version, &subversion); /* before MPI_Init too */
    SAME(version, MPI_VERSION);
    SAME(subversion, MPI_SUBVERSION);
    MPI_Get_library_version(text, &length);
    SAME(length, (int)strlen(text));
    CHECK(strstr(text, "Corelace"));

    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    CHECK(provided >= MPI_THREAD_FUNNELED);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Query_thread(&flag);
    SAME(flag, provided);
    MPI_Is_thread_main(&flag);
    CHECK(flag);
    MPI_Initialized(&flag);
    CHECK(flag);
    SAME(argc, 1);
    CHECK(argv[0] && strstr(argv[0], "environment"));

    MPI_Get_processor_name(name, &length);
    CHECK(length > 0 && length == (int)strlen(name));

    double tick = MPI_Wtick(), first = MPI_Wtime(), now = first;
    CHECK(tick > 0 && tick <= 1e-3);
    for (int i = 0; i < 1000; i++) {
        double next = MPI_Wtime();
        CHECK(next >= now);
        now = next;
    }
    while (now < first + 0.01) now = MPI_Wtime(); /* it goes on */

    int *shared;
    MPI_Alloc_mem(4096 * sizeof *shared, MPI_INFO_NULL, &shared);
    for (int i = 0; i < 4096; i++) shared[i] = rank;
    MPI_Bcast(shared, 4096, MPI_INT, size - 1, MPI_COMM_WORLD);
    SAME(shared[4095], size - 1);
    MPI_Free_mem(shared);

    int own, n, everyone;
    MPI_Comm_rank(MPI_COMM_SELF, &own);
    MPI_Comm_size(MPI_COMM_SELF, &n);
    CHECK(own == 0 && n == 1);

    /* Every rank has the same idea of the others. */
    int numbers[256];
    MPI_Allgather(&rank, 1, MPI_INT, numbers, 1, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < size; r++) SAME(numbers[r], r);
    MPI_Allreduce(&size, &everyone, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    SAME(everyone, size);

    int failed = conclude();
    MPI_Finalized(&flag);
    MPI_Initialized(&n);
    return failed || !flag || !n;
}
