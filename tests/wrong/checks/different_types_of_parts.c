// What members send each other has as many bytes as its receivers expect, but other types; blocking, non-blocking, persistent.
// ranks: 2
// flags: --check --timeout 60
// status: 3
// expect: collective call 1 on MPI_COMM_WORLD differs in its datatypes: rank 1 sends 2 MPI_FLOAT to rank 0 (sendcounts[0] of MPI_Alltoallv in main at
// expect: which receives 2 MPI_INT (recvcounts[1] of MPI_Alltoallv in main at
// expect: element 0 is sent as MPI_FLOAT and received as MPI_INT; and 1 more pair
// expect: {file}:{line:WRONG}
// expect: collective call 2 on MPI_COMM_WORLD differs in its datatypes: rank 1 sends 2 MPI_FLOAT to rank 0 (sendcounts[0] of MPI_Ialltoallv in main at
// expect: collective call 3 on MPI_COMM_WORLD differs in its datatypes: rank 0 sends 2 MPI_FLOAT to rank 1 (sendcount of MPI_Iallgatherv in main at
// expect: collective call 4 on MPI_COMM_WORLD differs in its datatypes: rank 1 sends 2 MPI_INT to rank 0 (sendcount of MPI_Gatherv in main at
// expect: collective call 5 on MPI_COMM_WORLD differs in its datatypes: rank 0 sends 1 element of (1 MPI_INT, 1 MPI_FLOAT) to rank 1 (sendcounts[1] of MPI_Scatterv_init in main at
// expect: element 1 is sent as MPI_FLOAT and received as MPI_INT
// expect: collective call 6 on MPI_COMM_WORLD differs in its datatypes: rank 1 sends 2 MPI_FLOAT to rank 0 (sendcounts[0] of MPI_Ialltoallw in main at
// never: differs in its counts
#include "../wrong.h"

int main(int argc, char **argv)
{
    static const int two[2] = {2, 2}, one[2] = {1, 1}, at[2] = {0, 2}, bytes_at[2] = {0, 8};
    int out[4] = {0}, in[4], lengths[2] = {1, 1};
    MPI_Aint places[2] = {0, 4};
    MPI_Datatype parts[2] = {MPI_INT, MPI_FLOAT}, mixed, other, others[2], ints[2] = {MPI_INT, MPI_INT};
    MPI_Request request;
    begin(&argc, &argv);
    other = others[0] = others[1] = rank == 0 ? MPI_INT : MPI_FLOAT;
    MPI_Type_create_struct(2, lengths, places, parts, &mixed);
    MPI_Type_commit(&mixed);
    MPI_Alltoallv(out, two, at, other, in, two, at, other, MPI_COMM_WORLD); /* WRONG */
    MPI_Ialltoallv(out, two, at, other, in, two, at, other, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Iallgatherv(out, 2, MPI_FLOAT, in, two, at, rank == 0 ? MPI_FLOAT : MPI_INT, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Gatherv(out, 2, rank == 0 ? MPI_FLOAT : MPI_INT, in, two, at, MPI_FLOAT, 0, MPI_COMM_WORLD);
    if (rank == 0)
        MPI_Scatterv_init(out, one, at, mixed, in, 1, mixed, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    else
        MPI_Scatterv_init(NULL, NULL, NULL, MPI_INT, in, 2, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
    MPI_Ialltoallw(out, two, bytes_at, others, in, two, bytes_at, rank == 0 ? ints : others, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Type_free(&mixed);
    MPI_Finalize();
    return 0;
}
