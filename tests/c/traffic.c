/*
 * Random traffic for so many milliseconds: traffic SEED MILLISECONDS [QUITTER MOMENT] [daemon]. All ranks draw the same numbers, so they agree on
 * what comes next; every payload is checked. Rank QUITTER calls exit(3) in the first round that begins MOMENT milliseconds after its traffic did, or, where
 * MOMENT is 0 and the environment names the rank, instead of MPI_Init, and says when by the monotonic clock; the others go on until it has. With "daemon" rank 0 leaves a process behind that has
 * left the session.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 60000 };

static uint64_t state;

static unsigned draw(unsigned below) {
    state += 0x9e3779b97f4a7c15u;
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (unsigned)((z ^ (z >> 31)) % below);
}

static void check(int right, const char *what, int round) {
    if (!right) {
        fprintf(stderr, "wrong %s in round %d\n", what, round);
        MPI_Abort(MPI_COMM_WORLD, 99);
    }
}

static void leave(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    fprintf(stderr, "leaving at %lld\n", now.tv_sec * 1000LL + now.tv_nsec / 1000000);
    exit(3);
}

int main(int argc, char **argv) {
    static unsigned char out[MOST], in[MOST];
    int rank, size, go = 1, quitter = -1;
    double quit = 0;
    state = strtoull(argv[1], NULL, 10);
    double limit = atof(argv[2]) / 1000;
    if (argc > 4) {
        quitter = atoi(argv[3]), quit = atof(argv[4]) / 1000;
    }
    const char *own = getenv("CORELACE_RANK");
    if (quitter >= 0 && quit == 0 && own && atoi(own) == quitter) {
        leave();
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0 && !strcmp(argv[argc - 1], "daemon")) {
        check(system("setsid sleep 1000 >/dev/null 2>&1 </dev/null &") == 0, "shell", 0);
    }
    double began = MPI_Wtime();
    for (int round = 0; go; round++) {
        if (rank == quitter && MPI_Wtime() - began >= quit) {
            leave();
        }
        int bytes = (int)draw(draw(4) ? 512 : MOST), shift = (int)draw((unsigned)size), root = (int)draw((unsigned)size);
        int to = (rank + shift) % size, from = (rank + size - shift) % size;
        switch (draw(5)) {
        case 0: {
            MPI_Request requests[2];
            memset(out, rank + round, (size_t)bytes);
            MPI_Irecv(in, bytes, MPI_BYTE, from, round % 100, MPI_COMM_WORLD, &requests[0]);
            MPI_Isend(out, bytes, MPI_BYTE, to, round % 100, MPI_COMM_WORLD, &requests[1]);
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
            check(!bytes || in[bytes - 1] == (unsigned char)(from + round), "message", round);
            break;
        }
        case 1: {
            long sum = 0, mine = rank + round;
            MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
            check(sum == (long)size * (size - 1) / 2 + (long)size * round, "sum", round);
            break;
        }
        case 2:
            memset(out, rank == root ? round : 77, (size_t)bytes);
            MPI_Bcast(out, bytes, MPI_BYTE, root, MPI_COMM_WORLD);
            check(!bytes || out[bytes / 2] == (unsigned char)round, "broadcast", round);
            break;
        case 3: {
            int each = bytes / size;
            for (int peer = 0; peer < size; peer++) {
                memset(out + peer * each, rank + peer, (size_t)each);
            }
            MPI_Alltoall(out, each, MPI_BYTE, in, each, MPI_BYTE, MPI_COMM_WORLD);
            check(!each || in[from * each] == (unsigned char)(rank + from), "exchange", round);
            break;
        }
        default: MPI_Barrier(MPI_COMM_WORLD);
        }
        go = MPI_Wtime() - began < limit || quitter >= 0;
        MPI_Bcast(&go, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    if (rank == 0) {
        printf("no errors\n");
    }
    return 0;
}
