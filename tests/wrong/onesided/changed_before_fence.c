// The data of a put is changed before the fence that completes it; and memory that a get fills is given away.
// ranks: 2
// flags: --check
// status: 3
// expect: origin_addr of MPI_Put in main at
// expect: was changed before MPI_Win_fence in main at
// expect: 4 bytes of origin_addr from 0x
// expect: are to be read, and are also origin_addr of get of 4 bytes at rank
// expect: {file}:{line:WRONG}
// expect: {file}:{line:TAKEN}
#include "../wrong.h"

int main(int argc, char **argv)
{
    int memory[4] = {0}, value = 1, taken = 2;
    MPI_Win win;
    begin(&argc, &argv);
    MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    MPI_Put(&value, 1, MPI_INT, 1 - rank, 0, 1, MPI_INT, win); /* WRONG */
    value = 2;
    MPI_Get(&taken, 1, MPI_INT, 1 - rank, 1, 1, MPI_INT, win);
    MPI_Put(&taken, 1, MPI_INT, 1 - rank, 2, 1, MPI_INT, win); /* TAKEN */
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
