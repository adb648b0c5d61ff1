/* Collectives of neighbours, in every form, on grids whose circles are so small that one member is its neighbour's neighbour twice, on
 * graphs, and on distributed graphs with edges between the same two. */
#include "check.h"

enum { MOST = 16, EACH = 3 };

/* The neighbours of this process in the order of the standard, and for each source which of its messages to this process it is. */
typedef struct {
    MPI_Comm comm;
    int in, out, sources[MOST], destinations[MOST];
    /* What the sender calls the edge: its place among the sender's destinations. */
    int places[MOST];
} around;

/* What a process sends along its edge `place`. */
static int datum(int from, int place, int index) { return from * 1000 + place * 10 + index; }

static void check_received(const around *a, const int *got, int each_edge, const char *form)
{
    for (int i = 0; i < a->in; i++)
        for (int k = 0; k < EACH; k++) {
            int expected = a->sources[i] == MPI_PROC_NULL ? -1 : datum(a->sources[i], each_edge ? a->places[i] : 0, k);
            if (got[i * EACH + k] != expected && failures++ < 20)
                fprintf(stderr, "rank %d, %s: element %d from neighbour %d is %d, expected %d\n", rank, form, k, i, got[i * EACH + k], expected);
        }
}

typedef void (*finish)(MPI_Request *);
static void complete(MPI_Request *request) { MPI_Wait(request, MPI_STATUS_IGNORE); }
static void twice(MPI_Request *request)
{
    for (int i = 0; i < 2; i++) {
        MPI_Start(request);
        MPI_Wait(request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(request);
}

static void all_forms(const around *a)
{
    int mine[EACH], out[MOST * EACH], got[MOST * EACH], counts[MOST], displs[MOST];
    MPI_Count counts_c[MOST];
    MPI_Aint displs_c[MOST], bytes[MOST];
    MPI_Datatype types[MOST];
    MPI_Request request;
    for (int k = 0; k < EACH; k++) mine[k] = datum(rank, 0, k);
    for (int i = 0; i < a->out; i++)
        for (int k = 0; k < EACH; k++) out[i * EACH + k] = datum(rank, i, k);
    for (int i = 0; i < MOST; i++) {
        counts_c[i] = counts[i] = EACH;
        displs_c[i] = displs[i] = i * EACH;
        bytes[i] = i * EACH * (MPI_Aint)sizeof(int);
        types[i] = MPI_INT;
    }
#define FRESH memset(got, 0xff, sizeof got)
#define GATHERED(form) check_received(a, got, 0, #form)
#define EXCHANGED(form) check_received(a, got, 1, #form)
#define INT3 EACH, MPI_INT
    FRESH, MPI_Neighbor_allgather(mine, INT3, got, INT3, a->comm), GATHERED(allgather);
    FRESH, MPI_Neighbor_allgather_c(mine, INT3, got, INT3, a->comm), GATHERED(allgather_c);
    FRESH, MPI_Ineighbor_allgather(mine, INT3, got, INT3, a->comm, &request), complete(&request), GATHERED(iallgather);
    FRESH, MPI_Ineighbor_allgather_c(mine, INT3, got, INT3, a->comm, &request), complete(&request), GATHERED(iallgather_c);
    FRESH, MPI_Neighbor_allgather_init(mine, INT3, got, INT3, a->comm, MPI_INFO_NULL, &request), twice(&request), GATHERED(allgather_init);
    FRESH, MPI_Neighbor_allgather_init_c(mine, INT3, got, INT3, a->comm, MPI_INFO_NULL, &request), twice(&request), GATHERED(allgather_init_c);

    FRESH, MPI_Neighbor_allgatherv(mine, INT3, got, counts, displs, MPI_INT, a->comm), GATHERED(allgatherv);
    FRESH, MPI_Neighbor_allgatherv_c(mine, INT3, got, counts_c, displs_c, MPI_INT, a->comm), GATHERED(allgatherv_c);
    FRESH, MPI_Ineighbor_allgatherv(mine, INT3, got, counts, displs, MPI_INT, a->comm, &request), complete(&request), GATHERED(iallgatherv);
    FRESH, MPI_Ineighbor_allgatherv_c(mine, INT3, got, counts_c, displs_c, MPI_INT, a->comm, &request), complete(&request), GATHERED(iallgatherv_c);
    FRESH, MPI_Neighbor_allgatherv_init(mine, INT3, got, counts, displs, MPI_INT, a->comm, MPI_INFO_NULL, &request), twice(&request), GATHERED(allgatherv_init);
    FRESH, MPI_Neighbor_allgatherv_init_c(mine, INT3, got, counts_c, displs_c, MPI_INT, a->comm, MPI_INFO_NULL, &request), twice(&request), GATHERED(allgatherv_init_c);

    FRESH, MPI_Neighbor_alltoall(out, INT3, got, INT3, a->comm), EXCHANGED(alltoall);
    FRESH, MPI_Neighbor_alltoall_c(out, INT3, got, INT3, a->comm), EXCHANGED(alltoall_c);
    FRESH, MPI_Ineighbor_alltoall(out, INT3, got, INT3, a->comm, &request), complete(&request), EXCHANGED(ialltoall);
    FRESH, MPI_Ineighbor_alltoall_c(out, INT3, got, INT3, a->comm, &request), complete(&request), EXCHANGED(ialltoall_c);
    FRESH, MPI_Neighbor_alltoall_init(out, INT3, got, INT3, a->comm, MPI_INFO_NULL, &request), twice(&request), EXCHANGED(alltoall_init);
    FRESH, MPI_Neighbor_alltoall_init_c(out, INT3, got, INT3, a->comm, MPI_INFO_NULL, &request), twice(&request), EXCHANGED(alltoall_init_c);

#define V counts, displs, MPI_INT
#define VC counts_c, displs_c, MPI_INT
    FRESH, MPI_Neighbor_alltoallv(out, V, got, V, a->comm), EXCHANGED(alltoallv);
    FRESH, MPI_Neighbor_alltoallv_c(out, VC, got, VC, a->comm), EXCHANGED(alltoallv_c);
    FRESH, MPI_Ineighbor_alltoallv(out, V, got, V, a->comm, &request), complete(&request), EXCHANGED(ialltoallv);
    FRESH, MPI_Ineighbor_alltoallv_c(out, VC, got, VC, a->comm, &request), complete(&request), EXCHANGED(ialltoallv_c);
    FRESH, MPI_Neighbor_alltoallv_init(out, V, got, V, a->comm, MPI_INFO_NULL, &request), twice(&request), EXCHANGED(alltoallv_init);
    FRESH, MPI_Neighbor_alltoallv_init_c(out, VC, got, VC, a->comm, MPI_INFO_NULL, &request), twice(&request), EXCHANGED(alltoallv_init_c);

#define W counts, bytes, types
#define WC counts_c, bytes, types
    FRESH, MPI_Neighbor_alltoallw(out, W, got, W, a->comm), EXCHANGED(alltoallw);
    FRESH, MPI_Neighbor_alltoallw_c(out, WC, got, WC, a->comm), EXCHANGED(alltoallw_c);
    FRESH, MPI_Ineighbor_alltoallw(out, W, got, W, a->comm, &request), complete(&request), EXCHANGED(ialltoallw);
    FRESH, MPI_Ineighbor_alltoallw_c(out, WC, got, WC, a->comm, &request), complete(&request), EXCHANGED(ialltoallw_c);
    FRESH, MPI_Neighbor_alltoallw_init(out, W, got, W, a->comm, MPI_INFO_NULL, &request), twice(&request), EXCHANGED(alltoallw_init);
    FRESH, MPI_Neighbor_alltoallw_init_c(out, WC, got, WC, a->comm, MPI_INFO_NULL, &request), twice(&request), EXCHANGED(alltoallw_init_c);
}

/* On a grid what comes from below was sent upwards (MPI 5.0, 8.6): place 2d of the receiver is place 2d + 1 of the sender. */
static void on_grid(int dims0, int dims1, int circle0, int circle1)
{
    int dims[2] = {dims0, dims1}, periods[2] = {circle0, circle1};
    around a = {.in = 4, .out = 4};
    if (dims0 * dims1 > size) return;
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &a.comm);
    if (a.comm == MPI_COMM_NULL) return;
    for (int d = 0; d < 2; d++) {
        MPI_Cart_shift(a.comm, d, 1, &a.sources[2 * d], &a.sources[2 * d + 1]);
        a.places[2 * d] = 2 * d + 1;
        a.places[2 * d + 1] = 2 * d;
    }
    memcpy(a.destinations, a.sources, sizeof a.sources);
    all_forms(&a);
    MPI_Comm_free(&a.comm);
}

static void on_graph(void)
{
    int index[MOST], edges[4 * MOST], n = 0;
    around a = {.in = 0};
    for (int r = 0; r < size; r++) {
        for (int other = 0; other < size; other++)
            if (other != r && (other == 0 || r == 0)) edges[n++] = other;
        index[r] = n;
    }
    MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &a.comm);
    MPI_Graph_neighbors_count(a.comm, rank, &a.in);
    a.out = a.in;
    MPI_Graph_neighbors(a.comm, rank, a.in, a.sources);
    /* A star: at the centre the edges are in the order of the ranks. */
    for (int i = 0; i < a.in; i++) a.places[i] = rank == 0 ? 0 : rank - 1;
    all_forms(&a);
    MPI_Comm_free(&a.comm);
}

/* Two edges to the next, one to itself, none back. */
static void on_distributed(void)
{
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    around a = {.in = 3, .out = 3, .sources = {before, before, rank}, .destinations = {next, next, rank}, .places = {0, 1, 2}};
    if (size == 1) return;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 3, a.sources, MPI_UNWEIGHTED, 3, a.destinations, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &a.comm);
    all_forms(&a);
    MPI_Comm_free(&a.comm);
}

/* Rank 0 gets from all others, who get nothing. Who gets or sends nothing needs neither memory nor
 * counts (MPI section 8.6). */
static void on_one_way(void)
{
    enum { LENGTH = 5000 };
    int sources[MOST], in = rank == 0 ? size - 1 : 0, out = rank == 0 ? 0 : 1, to = 0;
    int *mine = out ? malloc(LENGTH * sizeof *mine) : NULL;
    int *got = in ? malloc((size_t)in * LENGTH * sizeof *got) : NULL;
    int *counts = malloc(((size_t)in + 1) * sizeof *counts), *places = malloc(((size_t)in + 1) * sizeof *places);
    if (size == 1 || size > MOST) return;
    for (int i = 0; i < in; i++) sources[i] = i + 1, counts[i] = LENGTH, places[i] = i * LENGTH;
    for (int i = 0; i < out; i++) counts[i] = LENGTH, places[i] = 0;
    MPI_Comm comm;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, in, sources, MPI_UNWEIGHTED, out, &to, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &comm);
    for (int form = 0; form < 3; form++) {
        MPI_Request request;
        for (int i = 0; i < out * LENGTH; i++) mine[i] = rank * 10000 + form * 100 + i;
        if (form == 0) MPI_Ineighbor_alltoall(mine, LENGTH, MPI_INT, got, LENGTH, MPI_INT, comm, &request);
        else if (form == 1) MPI_Ineighbor_allgather(mine, LENGTH, MPI_INT, got, LENGTH, MPI_INT, comm, &request);
        else
            MPI_Ineighbor_alltoallv(mine, out ? counts : NULL, out ? places : NULL, MPI_INT, got, in ? counts : NULL,
                                    in ? places : NULL, MPI_INT, comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int i = 0; i < in; i++) {
            SAME(got[i * LENGTH], (i + 1) * 10000 + form * 100);
            SAME(got[i * LENGTH + LENGTH - 1], (i + 1) * 10000 + form * 100 + LENGTH - 1);
        }
    }
    MPI_Comm_free(&comm);
    free(mine), free(got), free(counts), free(places);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    on_grid(1, 1, 1, 1);
    on_grid(2, 1, 1, 1);
    on_grid(2, 2, 1, 0);
    on_grid(1, size, 0, 1);
    on_grid(size, 1, 0, 0);
    on_graph();
    on_distributed();
    on_one_way();
    int mine[EACH] = {0}, got[EACH], class;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Error_class(MPI_Neighbor_allgather(mine, EACH, MPI_INT, got, EACH, MPI_INT, MPI_COMM_WORLD), &class);
    SAME(class, MPI_ERR_TOPOLOGY);
    return conclude();
}
