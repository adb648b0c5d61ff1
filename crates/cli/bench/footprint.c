/* Private memory of a rank after a barrier, the mean over all ranks. Ranks that share a process share its memory, each has its part.
 *   figure private RANKS:ranks VALUE KiB
 * usage: footprint QUICK                                                                               */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int me, everybody;
    long mine = 0, sum;
    char line[200];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &everybody);
    MPI_Barrier(MPI_COMM_WORLD);
    FILE *account = fopen("/proc/self/smaps_rollup", "r");
    while (account && fgets(line, sizeof line, account)) sscanf(line, "Private_Dirty: %ld", &mine);
    if (account) fclose(account);
    MPI_Reduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (me == 0) printf("figure private %d:ranks %ld KiB\n", everybody, sum / everybody);
    MPI_Finalize();
    return 0;
}
