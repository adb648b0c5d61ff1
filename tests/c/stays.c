/* Says through the pipe that it is given that it runs, and stays until it is ended. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        int pipe = open(argv[1], O_WRONLY);
        if (pipe < 0 || write(pipe, "x", 1) != 1) {
            perror(argv[1]);
            return 1;
        }
        for (;;)
            pause();
    }
    MPI_Finalize();
    return 0;
}
