/* A rank can neither shrink nor grow the memory that all ranks share. */
#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int rank, errors = 0;
    struct stat status;
    /* MPI_Init takes the descriptor away. */
    int segment = dup(atoi(getenv("CORELACE_SEGMENT_FD")));
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    errors += fstat(segment, &status) != 0 || status.st_size == 0;
    errors += ftruncate(segment, 0) != -1 || errno != EPERM;
    errors += ftruncate(segment, status.st_size + 1) != -1 || errno != EPERM;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &errors, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        printf(errors ? "%d errors\n" : "no errors\n", errors);
    }
    MPI_Finalize();
    return errors;
}
