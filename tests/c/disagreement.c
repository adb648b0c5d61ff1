/* Collectives whose members disagree about a count, one member at a time: nobody waits for ever, and somebody is told. The
   communicator of each is used once, so that nothing is left over for the next.

   disagreement WHICH ODD COUNT OTHER: just one, on the world, where rank ODD has OTHER elements and the others COUNT. */
#include "check.h"

#define COUNT 8
#define COLLECTIVES 10
#define MOST (8 * 200000)

static int call(int which, MPI_Comm comm, int root, int count)
{
    static int in[MOST], out[MOST];
    switch (which) {
    case 0: return MPI_Bcast(in, count, MPI_INT, root, comm);
    case 1: return MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, comm);
    case 2: return MPI_Allgather(in, count, MPI_INT, out, count, MPI_INT, comm);
    case 3: return MPI_Alltoall(in, count, MPI_INT, out, count, MPI_INT, comm);
    case 4: return MPI_Gather(in, count, MPI_INT, out, count, MPI_INT, root, comm);
    case 5: return MPI_Scatter(in, count, MPI_INT, out, count, MPI_INT, root, comm);
    case 6: return MPI_Reduce(in, out, count, MPI_INT, MPI_SUM, root, comm);
    case 7: return MPI_Scan(in, out, count, MPI_INT, MPI_SUM, comm);
    case 8: return MPI_Reduce_scatter_block(in, out, count, MPI_INT, MPI_SUM, comm);
    default: {
        MPI_Request request;
        int code = MPI_Iallreduce(in, out, count, MPI_INT, MPI_SUM, comm, &request);
        return code != MPI_SUCCESS ? code : MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    }
}

int main(int argc, char **argv)
{
    static const int others[] = {COUNT + 1, COUNT - 1, 0};
    begin(&argc, &argv);
    if (argc > 4) {
        call(atoi(argv[1]), MPI_COMM_WORLD, 1, atoi(argv[rank == atoi(argv[2]) ? 4 : 3]));
        return conclude();
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int which = 0; which < COLLECTIVES; which++)
        for (int odd = 0; odd < size; odd++)
            for (int other = 0; other < 3; other++) {
                MPI_Comm comm;
                MPI_Comm_dup(MPI_COMM_WORLD, &comm);
                int told = call(which, comm, 1, rank != odd ? COUNT : others[other]) != MPI_SUCCESS;
                int all = 0;
                MPI_Allreduce(&told, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
                if (all == 0) fprintf(stderr, "collective %d, rank %d with %d: nobody was told\n", which, odd, others[other]);
                CHECK(all > 0);
                MPI_Comm_free(&comm);
            }
    return conclude();
}
