/* What every wrong program begins with. Its own file says on top how it is run and what must be said of it:
 *
 *   // ranks: 2                       how many
 *   // modes: process thread fiber    in which kinds of ranks (default: all three)
 *   // flags: --check                 words for mpirun
 *   // arguments: x                   words for the program
 *   // status: 125                    the job's exit status; "signal 11" for 128 + 11
 *   // expect: text                   a line of standard error that holds this; {line:TEXT} is the number of the line of the
 *   // fiber expect: text             program that holds TEXT, {file} its name; the second form is for one kind of ranks alone
 *   // never: text                    what must not be said
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size;

static inline void begin(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
}
