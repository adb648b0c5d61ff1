/* Jobs that cannot go on, each in a way of its own. The first argument says which; three ranks. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int rank, size;
static const char *kind;

static int is(const char *name)
{
    return strcmp(kind, name) == 0;
}

/* Work outside of MPI. */
static void compute(double seconds)
{
    struct timespec now, start;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - start.tv_sec) + (now.tv_nsec - start.tv_nsec) * 1e-9 < seconds);
}

static MPI_Win window;

static void make_window(void)
{
    int *memory;
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
}

static MPI_Group only(int member)
{
    MPI_Group world, group;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &member, &group);
    return group;
}

static MPI_Group all_but_me(void)
{
    MPI_Group world, group;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_excl(world, 1, &rank, &group);
    return group;
}

int main(int argc, char **argv)
{
    enum { LARGE = 1 << 22 };
    char *large = malloc(LARGE);
    int one = 1, flag = 0, many[6];
    MPI_Comm other;
    MPI_Request requests[6];

    MPI_Init(&argc, &argv);
    kind = argc > 1 ? argv[1] : "";
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    if (is("receives")) {
        if (rank < 2)
            MPI_Recv(&one, 1, MPI_INT, 1 - rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (is("sends")) {
        if (rank < 2)
            MPI_Send(large, LARGE, MPI_CHAR, 1 - rank, 6, MPI_COMM_WORLD);
    } else if (is("missing")) {
        if (rank < 2)
            MPI_Allreduce(MPI_IN_PLACE, &one, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        else
            MPI_Recv(&one, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (is("collectives")) {
        if (rank < 2)
            MPI_Barrier(MPI_COMM_WORLD);
        else
            MPI_Bcast(&one, 1, MPI_INT, 0, MPI_COMM_WORLD);
    } else if (is("tag")) {
        if (rank == 0)
            MPI_Recv(&one, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(&one, 1, MPI_INT, 0, 8, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
    } else if (is("communicator")) {
        MPI_Comm_dup(MPI_COMM_WORLD, &other);
        MPI_Comm_set_name(other, "twin");
        if (rank == 0)
            MPI_Recv(&one, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(&one, 1, MPI_INT, 0, 7, other);
        MPI_Barrier(MPI_COMM_WORLD);
    } else if (is("finalize")) {
        if (rank == 0)
            MPI_Recv(&one, 1, MPI_INT, 2, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (is("probe")) {
        if (rank == 0)
            MPI_Probe(1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Barrier(MPI_COMM_WORLD);
    } else if (is("matched-probe")) {
        MPI_Message message;
        if (rank == 0)
            MPI_Mprobe(1, 4, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
        else
            MPI_Barrier(MPI_COMM_WORLD);
    } else if (is("waitall")) {
        MPI_Irecv(&one, 1, MPI_INT, (rank + 1) % size, 1, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(&flag, 1, MPI_INT, (rank + 1) % size, 2, MPI_COMM_WORLD, &requests[1]);
        MPI_Send(&rank, 1, MPI_INT, (rank + size - 1) % size, 1, MPI_COMM_WORLD);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    } else if (is("many")) {
        if (rank == 0) {
            for (int i = 0; i < 6; i++)
                MPI_Irecv(&many[i], 1, MPI_INT, i < 5 ? 1 : 2, i + 1, MPI_COMM_WORLD, &requests[i]);
            MPI_Waitall(6, requests, MPI_STATUSES_IGNORE);
        } else
            MPI_Recv(&one, 1, MPI_INT, (rank + 1) % size, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (is("any")) {
        if (rank == 0) {
            MPI_Irecv(&many[0], 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &requests[0]);
            MPI_Irecv(&many[1], 1, MPI_INT, 2, 1, MPI_COMM_WORLD, &requests[1]);
            MPI_Waitany(2, requests, &flag, MPI_STATUS_IGNORE);
        } else
            MPI_Recv(&one, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (is("exchange")) {
        /* Rank 0 waits while the others exchange so many messages. */
        int rounds = argc > 2 ? atoi(argv[2]) : 1;
        for (int i = 0; rank > 0 && i < rounds; i++) {
            MPI_Sendrecv_replace(&one, 1, MPI_INT, 3 - rank, 3, 3 - rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (i == 0 && rank == 1) {
                puts("ready");
                fflush(stdout);
            }
        }
        if (rank == 0) MPI_Recv(&one, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1) MPI_Send(&one, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
    } else if (is("persistent")) {
        MPI_Recv_init(&one, 1, MPI_INT, (rank + 1) % size, 9, MPI_COMM_WORLD, &requests[0]);
        MPI_Start(&requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    } else if (is("nonblocking")) {
        if (rank < 2) {
            MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]);
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        } else
            MPI_Recv(&one, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (is("barrier")) {
        if (rank == 2)
            MPI_Recv(&one, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Barrier(MPI_COMM_WORLD);
    } else if (is("split")) {
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &other);
        if (rank == 0)
            MPI_Barrier(other);
        else
            MPI_Recv(&one, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (is("fence")) {
        make_window();
        if (rank == 2)
            MPI_Recv(&one, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Win_fence(0, window);
    } else if (is("start")) {
        make_window();
        if (rank == 0)
            MPI_Win_start(only(1), 0, window);
        else
            MPI_Barrier(MPI_COMM_WORLD);
    } else if (is("post")) {
        make_window();
        if (rank == 0) {
            MPI_Win_post(only(1), 0, window);
            MPI_Win_wait(window);
        } else
            MPI_Barrier(MPI_COMM_WORLD);
    } else if (is("polling")) {
        if (rank == 0) {
            MPI_Irecv(&one, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &requests[0]);
            while (!flag)
                MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
        } else
            MPI_Barrier(MPI_COMM_WORLD);
    } else if (is("computing")) {
        /* The others wait all along; nothing is wrong. */
        if (rank == 1)
            compute(3);
        MPI_Barrier(MPI_COMM_WORLD);
    } else if (is("slow")) {
        /* Every wait is shorter than the limit, all of them together are longer. */
        for (int round = 0; round < 5; round++) {
            if (rank == 1)
                compute(0.7);
            MPI_Barrier(MPI_COMM_WORLD);
        }
    } else if (is("stopped")) {
        /* One rank is stopped, as by a debugger. */
        if (rank == 1)
            raise(SIGSTOP);
        MPI_Barrier(MPI_COMM_WORLD);
    } else if (is("show")) {
        if (rank == 0)
            MPI_Recv(&one, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Recv(&one, 1, MPI_INT, 2, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 2) {
            printf("ready\n");
            compute(60);
        }
    } else if (is("idle")) {
        /* Waits for two seconds and tells what that cost. */
        struct timespec used;
        const char *where = argc > 2 ? argv[2] : "barrier";
        make_window();
        if (rank == 0) {
            struct timespec pause = {2, 0};
            nanosleep(&pause, NULL);
        }
        if (strcmp(where, "fence") == 0)
            MPI_Win_fence(0, window);
        else if (strcmp(where, "start") == 0) {
            /* The others wait for rank 0, which then waits for the last of them. */
            MPI_Group group = rank == 0 ? all_but_me() : only(0);
            if (rank == 0) {
                MPI_Win_post(group, 0, window);
                MPI_Win_wait(window);
            } else {
                MPI_Win_start(group, 0, window);
                MPI_Win_complete(window);
            }
        } else
            MPI_Barrier(MPI_COMM_WORLD);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
        printf("%d %ld\n", rank, used.tv_sec * 1000000 + used.tv_nsec / 1000);
    }
    MPI_Finalize();
    return 0;
}
