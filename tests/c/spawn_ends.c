/* How jobs end in which processes come later: the argument says what goes wrong, and where. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    MPI_Comm parent, inter;
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_get_parent(&parent);
    const char *what = argv[1];
    if (parent == MPI_COMM_NULL) {
        char *arguments[] = {argv[1], NULL};
        if (strcmp(what, "nobody") == 0) {
            char port[MPI_MAX_PORT_NAME];
            if (rank == 0) MPI_Open_port(MPI_INFO_NULL, port);
            MPI_Bcast(port, sizeof port, MPI_CHAR, 0, MPI_COMM_WORLD);
            if (rank == 1) MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
            MPI_Barrier(MPI_COMM_WORLD);
        }
        if (strcmp(what, "missing") == 0) arguments[0] = "none", argv[0] = "no-such-program";
        MPI_Comm_spawn(argv[0], arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
        printf("children are there\n");
        fflush(stdout);
        if (strcmp(what, "parent dies") == 0 && rank == 0) raise(SIGKILL);
        MPI_Recv(NULL, 0, MPI_INT, 0, 1, inter, MPI_STATUS_IGNORE);
    } else if (strcmp(what, "child crashes") == 0 && rank == 1) {
        raise(SIGSEGV);
    } else if (strcmp(what, "child aborts") == 0 && rank == 1) {
        MPI_Abort(MPI_COMM_WORLD, 9);
    } else if (strcmp(what, "child exits") == 0) {
        for (int to = 0; to < 2; to++)
            if (rank == 0) MPI_Send(NULL, 0, MPI_INT, to, 1, parent);
        MPI_Finalize();
        return 7;
    } else {
        MPI_Recv(NULL, 0, MPI_INT, 0, 1, parent, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
