/* Private memory of a rank after a barrier, the mean over all ranks. Ranks that share a process share its memory, each has its part.
 *   figure private RANKS:ranks VALUE KiB */
#include "measure.h"
#include <unistd.h>

int main(int argc, char **argv)
{
    double mine = 0, sum;
    long account_of_process = 0;
    int process = getpid(), sharing = 0;
    char line[200];
    MPI_Init(&argc, &argv);
    get_ready(argc, argv);
    MPI_Barrier(MPI_COMM_WORLD);
    FILE *account = fopen("/proc/self/smaps_rollup", "r");
    while (account && fgets(line, sizeof line, account)) sscanf(line, "Private_Dirty: %ld", &account_of_process);
    if (account) fclose(account);
    int *processes = malloc((size_t)everybody * sizeof *processes);
    MPI_Allgather(&process, 1, MPI_INT, processes, 1, MPI_INT, MPI_COMM_WORLD);
    for (int rank = 0; rank < everybody; rank++) sharing += processes[rank] == process;
    mine = (double)account_of_process / sharing;
    MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    figure_of("private", everybody, "ranks", sum / everybody, "KiB");
    free(processes);
    MPI_Finalize();
    return 0;
}
