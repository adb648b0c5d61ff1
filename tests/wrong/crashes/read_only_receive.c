// A large message into constants.
// ranks: 3
// expect: rank 1
// expect: buffer
// modes: process
// never: is gone
#include "../wrong.h"
#include <sys/mman.h>

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    size_t bytes = 4 << 20;
    int protection = rank == 1 ? PROT_READ : PROT_READ | PROT_WRITE;
    char *data = mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (rank == 0)
        MPI_Send(data, (int)bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    else if (rank == 1)
        MPI_Recv(data, (int)bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
