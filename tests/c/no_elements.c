/* No elements need no memory: a count of zero comes with a null pointer in every function that takes
 * a buffer. The data() of an empty std::vector is null. */
#include "files.h"

#define OK(call) SAME(call, MPI_SUCCESS)

static void finish(MPI_Request *request) { OK(MPI_Wait(request, MPI_STATUS_IGNORE)); }

static void round_of(MPI_Request *request)
{
    for (int round = 0; round < 2; round++) {
        OK(MPI_Start(request));
        finish(request);
    }
    OK(MPI_Request_free(request));
}

#define ENDED(call, request)                                                                       \
    do {                                                                                           \
        OK(call);                                                                                  \
        finish(request);                                                                           \
    } while (0)

/* The blocking, the non-blocking and the persistent form, in one width of counts. */
#define FORMS(Name, name, width, ...)                                                              \
    do {                                                                                           \
        MPI_Request q_ = MPI_REQUEST_NULL;                                                         \
        OK(MPI_##Name##width(__VA_ARGS__));                                                        \
        OK(MPI_I##name##width(__VA_ARGS__, &q_));                                                  \
        finish(&q_);                                                                               \
        OK(MPI_##Name##_init##width(__VA_ARGS__, MPI_INFO_NULL, &q_));                             \
        round_of(&q_);                                                                             \
    } while (0)

#define BOTH(Name, name, ...)                                                                      \
    do {                                                                                           \
        FORMS(Name, name, , __VA_ARGS__);                                                          \
        FORMS(Name, name, _c, __VA_ARGS__);                                                        \
    } while (0)

enum { MANY = 64 };
static const int none[MANY];
static const MPI_Count none_c[MANY];
static const MPI_Aint displs_c[MANY];
static MPI_Datatype types[MANY];

static void join(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)count, (void)type;
    CHECK(!"called for no elements");
}

/* `between`: the communicator is an inter-communicator, which has no MPI_IN_PLACE and no scans. */
static void reductions_of(MPI_Comm comm, MPI_Datatype type, MPI_Op op, int root, int between)
{
    BOTH(Reduce, reduce, NULL, NULL, 0, type, op, root, comm);
    BOTH(Allreduce, allreduce, NULL, NULL, 0, type, op, comm);
    BOTH(Reduce_scatter_block, reduce_scatter_block, NULL, NULL, 0, type, op, comm);
    FORMS(Reduce_scatter, reduce_scatter, , NULL, NULL, none, type, op, comm);
    FORMS(Reduce_scatter, reduce_scatter, _c, NULL, NULL, none_c, type, op, comm);
    OK(MPI_Reduce_local(NULL, NULL, 0, type, op));
    OK(MPI_Reduce_local_c(NULL, NULL, 0, type, op));
    if (between) return;
    BOTH(Scan, scan, NULL, NULL, 0, type, op, comm);
    BOTH(Exscan, exscan, NULL, NULL, 0, type, op, comm);
    BOTH(Allreduce, allreduce, MPI_IN_PLACE, NULL, 0, type, op, comm);
    BOTH(Scan, scan, MPI_IN_PLACE, NULL, 0, type, op, comm);
    BOTH(Exscan, exscan, MPI_IN_PLACE, NULL, 0, type, op, comm);
    BOTH(Reduce_scatter_block, reduce_scatter_block, MPI_IN_PLACE, NULL, 0, type, op, comm);
    FORMS(Reduce_scatter, reduce_scatter, , MPI_IN_PLACE, NULL, none, type, op, comm);
    FORMS(Reduce_scatter, reduce_scatter, _c, MPI_IN_PLACE, NULL, none_c, type, op, comm);
    const void *own = rank == root ? MPI_IN_PLACE : NULL;
    BOTH(Reduce, reduce, own, NULL, 0, type, op, root, comm);
}

static void reductions(MPI_Comm comm, int root, int between)
{
    MPI_Op own;
    OK(MPI_Op_create(join, 0, &own));
    reductions_of(comm, MPI_INT, MPI_SUM, root, between);
    reductions_of(comm, MPI_DOUBLE, MPI_MAX, root, between);
    reductions_of(comm, MPI_DOUBLE_INT, MPI_MINLOC, root, between);
    reductions_of(comm, types[1], own, root, between);
    OK(MPI_Op_free(&own));
}

/* The first member of a reduction has no block of its own, and so no memory for it; the others have. */
static void some_without(void)
{
    int counts[MANY], in[MANY], out = -1;
    for (int i = 0; i < size; i++) counts[i] = i > 0, in[i] = i;
    OK(MPI_Reduce_scatter(in, rank > 0 ? &out : NULL, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    SAME(out, rank > 0 ? (rank - 1) * size : -1);
}

static void exchanges(MPI_Comm comm, int root)
{
    MPI_Datatype t = MPI_INT;
    BOTH(Bcast, bcast, NULL, 0, t, root, comm);
    BOTH(Gather, gather, NULL, 0, t, NULL, 0, t, root, comm);
    BOTH(Scatter, scatter, NULL, 0, t, NULL, 0, t, root, comm);
    BOTH(Allgather, allgather, NULL, 0, t, NULL, 0, t, comm);
    BOTH(Alltoall, alltoall, NULL, 0, t, NULL, 0, t, comm);
    FORMS(Gatherv, gatherv, , NULL, 0, t, NULL, none, none, t, root, comm);
    FORMS(Gatherv, gatherv, _c, NULL, 0, t, NULL, none_c, displs_c, t, root, comm);
    FORMS(Scatterv, scatterv, , NULL, none, none, t, NULL, 0, t, root, comm);
    FORMS(Scatterv, scatterv, _c, NULL, none_c, displs_c, t, NULL, 0, t, root, comm);
    FORMS(Allgatherv, allgatherv, , NULL, 0, t, NULL, none, none, t, comm);
    FORMS(Allgatherv, allgatherv, _c, NULL, 0, t, NULL, none_c, displs_c, t, comm);
    FORMS(Alltoallv, alltoallv, , NULL, none, none, t, NULL, none, none, t, comm);
    FORMS(Alltoallv, alltoallv, _c, NULL, none_c, displs_c, t, NULL, none_c, displs_c, t, comm);
    FORMS(Alltoallw, alltoallw, , NULL, none, none, types, NULL, none, none, types, comm);
    FORMS(Alltoallw, alltoallw, _c, NULL, none_c, displs_c, types, NULL, none_c, displs_c, types, comm);
}

static void in_place(MPI_Comm comm)
{
    MPI_Datatype t = MPI_INT, no = MPI_DATATYPE_NULL;
    BOTH(Allgather, allgather, MPI_IN_PLACE, 0, no, NULL, 0, t, comm);
    BOTH(Alltoall, alltoall, MPI_IN_PLACE, 0, no, NULL, 0, t, comm);
    FORMS(Allgatherv, allgatherv, , MPI_IN_PLACE, 0, no, NULL, none, none, t, comm);
    FORMS(Alltoallv, alltoallv, , MPI_IN_PLACE, NULL, NULL, no, NULL, none, none, t, comm);
    FORMS(Alltoallw, alltoallw, , MPI_IN_PLACE, NULL, NULL, NULL, NULL, none, none, types, comm);
}

static void neighbors(void)
{
    MPI_Comm ring;
    int periodic = 1;
    MPI_Datatype t = MPI_INT;
    OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring));
    BOTH(Neighbor_allgather, neighbor_allgather, NULL, 0, t, NULL, 0, t, ring);
    BOTH(Neighbor_alltoall, neighbor_alltoall, NULL, 0, t, NULL, 0, t, ring);
    FORMS(Neighbor_allgatherv, neighbor_allgatherv, , NULL, 0, t, NULL, none, none, t, ring);
    FORMS(Neighbor_allgatherv, neighbor_allgatherv, _c, NULL, 0, t, NULL, none_c, displs_c, t, ring);
    FORMS(Neighbor_alltoallv, neighbor_alltoallv, , NULL, none, none, t, NULL, none, none, t, ring);
    FORMS(Neighbor_alltoallv, neighbor_alltoallv, _c, NULL, none_c, displs_c, t, NULL, none_c, displs_c, t, ring);
    FORMS(Neighbor_alltoallw, neighbor_alltoallw, , NULL, none, displs_c, types, NULL, none, displs_c, types, ring);
    FORMS(Neighbor_alltoallw, neighbor_alltoallw, _c, NULL, none_c, displs_c, types, NULL, none_c, displs_c, types, ring);
    OK(MPI_Comm_free(&ring));
}

static void received(MPI_Request *receive)
{
    MPI_Status status;
    int count = -1;
    OK(MPI_Wait(receive, &status));
    OK(MPI_Get_count(&status, MPI_INT, &count));
    SAME(count, 0);
}

/* To the next rank, from the one before: each mode of send, against each kind of receive. */
#define SENT(send)                                                                                 \
    do {                                                                                           \
        OK(MPI_Irecv(NULL, 0, t, before, 1, comm, &in));                                           \
        OK(MPI_Barrier(comm));                                                                     \
        OK(send);                                                                                  \
        received(&in);                                                                             \
    } while (0)

#define BEGUN(send)                                                                                \
    do {                                                                                           \
        SENT(send);                                                                                \
        finish(&out);                                                                              \
    } while (0)

#define KEPT(init)                                                                                 \
    do {                                                                                           \
        OK(init);                                                                                  \
        BEGUN(MPI_Start(&out));                                                                    \
        OK(MPI_Request_free(&out));                                                                \
    } while (0)

static void messages(MPI_Datatype t)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Request in, out;
    MPI_Message message;
    MPI_Status status;
    SENT(MPI_Send(NULL, 0, t, next, 1, comm));
    SENT(MPI_Send_c(NULL, 0, t, next, 1, comm));
    SENT(MPI_Bsend(NULL, 0, t, next, 1, comm));
    SENT(MPI_Bsend_c(NULL, 0, t, next, 1, comm));
    SENT(MPI_Ssend(NULL, 0, t, next, 1, comm));
    SENT(MPI_Ssend_c(NULL, 0, t, next, 1, comm));
    SENT(MPI_Rsend(NULL, 0, t, next, 1, comm));
    SENT(MPI_Rsend_c(NULL, 0, t, next, 1, comm));
    BEGUN(MPI_Isend(NULL, 0, t, next, 1, comm, &out));
    BEGUN(MPI_Isend_c(NULL, 0, t, next, 1, comm, &out));
    BEGUN(MPI_Ibsend(NULL, 0, t, next, 1, comm, &out));
    BEGUN(MPI_Ibsend_c(NULL, 0, t, next, 1, comm, &out));
    BEGUN(MPI_Issend(NULL, 0, t, next, 1, comm, &out));
    BEGUN(MPI_Issend_c(NULL, 0, t, next, 1, comm, &out));
    BEGUN(MPI_Irsend(NULL, 0, t, next, 1, comm, &out));
    BEGUN(MPI_Irsend_c(NULL, 0, t, next, 1, comm, &out));
    KEPT(MPI_Send_init(NULL, 0, t, next, 1, comm, &out));
    KEPT(MPI_Send_init_c(NULL, 0, t, next, 1, comm, &out));
    KEPT(MPI_Bsend_init(NULL, 0, t, next, 1, comm, &out));
    KEPT(MPI_Bsend_init_c(NULL, 0, t, next, 1, comm, &out));
    KEPT(MPI_Ssend_init(NULL, 0, t, next, 1, comm, &out));
    KEPT(MPI_Ssend_init_c(NULL, 0, t, next, 1, comm, &out));
    KEPT(MPI_Rsend_init(NULL, 0, t, next, 1, comm, &out));
    KEPT(MPI_Rsend_init_c(NULL, 0, t, next, 1, comm, &out));

    for (int form = 0; form < 8; form++) {
        OK(MPI_Isend(NULL, 0, t, next, 2, comm, &out));
        if (form >= 4) OK(MPI_Mprobe(before, 2, comm, &message, &status));
        switch (form) {
        case 0: OK(MPI_Recv(NULL, 0, t, before, 2, comm, MPI_STATUS_IGNORE)); break;
        case 1: OK(MPI_Recv_c(NULL, 0, t, before, 2, comm, MPI_STATUS_IGNORE)); break;
        case 2:
        case 3:
            OK(form == 2 ? MPI_Recv_init(NULL, 0, t, before, 2, comm, &in)
                         : MPI_Recv_init_c(NULL, 0, t, before, 2, comm, &in));
            OK(MPI_Start(&in));
            received(&in);
            OK(MPI_Request_free(&in));
            break;
        case 4: OK(MPI_Mrecv(NULL, 0, t, &message, &status)); break;
        case 5: OK(MPI_Mrecv_c(NULL, 0, t, &message, &status)); break;
        case 6: OK(MPI_Imrecv(NULL, 0, t, &message, &in)); received(&in); break;
        case 7: OK(MPI_Imrecv_c(NULL, 0, t, &message, &in)); received(&in); break;
        }
        finish(&out);
    }
    OK(MPI_Irecv_c(NULL, 0, t, before, 3, comm, &in));
    OK(MPI_Send(NULL, 0, t, next, 3, comm));
    received(&in);

    OK(MPI_Sendrecv(NULL, 0, t, next, 4, NULL, 0, t, before, 4, comm, &status));
    OK(MPI_Sendrecv_c(NULL, 0, t, next, 4, NULL, 0, t, before, 4, comm, &status));
    OK(MPI_Sendrecv_replace(NULL, 0, t, next, 4, before, 4, comm, &status));
    OK(MPI_Sendrecv_replace_c(NULL, 0, t, next, 4, before, 4, comm, &status));
    OK(MPI_Isendrecv(NULL, 0, t, next, 4, NULL, 0, t, before, 4, comm, &in));
    received(&in);
    OK(MPI_Isendrecv_c(NULL, 0, t, next, 4, NULL, 0, t, before, 4, comm, &in));
    received(&in);
    OK(MPI_Isendrecv_replace(NULL, 0, t, next, 4, before, 4, comm, &in));
    received(&in);
    OK(MPI_Isendrecv_replace_c(NULL, 0, t, next, 4, before, 4, comm, &in));
    received(&in);
}

static void partitioned(void)
{
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    for (int partitions = 1; partitions < 3; partitions++) {
        MPI_Request both[2];
        OK(MPI_Psend_init(NULL, partitions, 0, MPI_INT, next, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &both[0]));
        OK(MPI_Precv_init(NULL, partitions, 0, MPI_INT, before, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &both[1]));
        for (int round = 0; round < 2; round++) {
            OK(MPI_Startall(2, both));
            for (int i = 0; i < partitions; i++) OK(MPI_Pready(i, both[0]));
            OK(MPI_Waitall(2, both, MPI_STATUSES_IGNORE));
        }
        OK(MPI_Request_free(&both[0]));
        OK(MPI_Request_free(&both[1]));
    }
}

static void packing(void)
{
    int at = 0;
    MPI_Count at_c = 0;
    MPI_Aint external = 0;
    OK(MPI_Pack(NULL, 0, MPI_INT, NULL, 0, &at, MPI_COMM_WORLD));
    OK(MPI_Pack_c(NULL, 0, MPI_INT, NULL, 0, &at_c, MPI_COMM_WORLD));
    OK(MPI_Unpack(NULL, 0, &at, NULL, 0, MPI_INT, MPI_COMM_WORLD));
    OK(MPI_Unpack_c(NULL, 0, &at_c, NULL, 0, MPI_INT, MPI_COMM_WORLD));
    OK(MPI_Pack_external("external32", NULL, 0, MPI_INT, NULL, 0, &external));
    OK(MPI_Pack_external_c("external32", NULL, 0, MPI_INT, NULL, 0, &at_c));
    OK(MPI_Unpack_external("external32", NULL, 0, &external, NULL, 0, MPI_INT));
    OK(MPI_Unpack_external_c("external32", NULL, 0, &at_c, NULL, 0, MPI_INT));
    SAME(at + at_c + external, 0);
}

/* A buffer of no bytes is attached as any other: a second one is refused until it is detached. */
#define ATTACHED(kind, width, number, ...)                                                         \
    do {                                                                                           \
        void *address_ = &failures;                                                                \
        number bytes_ = -1;                                                                        \
        OK(MPI_##kind##attach_buffer##width(__VA_ARGS__, NULL, 0));                                \
        OK(MPI_##kind##detach_buffer##width(__VA_ARGS__, &address_, &bytes_));                     \
        CHECK(address_ == NULL && bytes_ == 0);                                                    \
    } while (0)

static void attached(void)
{
    MPI_Session session;
    void *address = &failures;
    int bytes = -1;
    MPI_Count bytes_c = -1;
    OK(MPI_Buffer_attach(NULL, 0));
    OK(MPI_Buffer_detach(&address, &bytes));
    CHECK(address == NULL && bytes == 0);
    OK(MPI_Buffer_attach_c(NULL, 0));
    OK(MPI_Buffer_detach_c(&address, &bytes_c));
    CHECK(address == NULL && bytes_c == 0);
    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    ATTACHED(Comm_, , int, MPI_COMM_WORLD);
    ATTACHED(Comm_, _c, MPI_Count, MPI_COMM_WORLD);
    ATTACHED(Session_, , int, session);
    ATTACHED(Session_, _c, MPI_Count, session);
    OK(MPI_Session_finalize(&session));
}

static void accesses(MPI_Win win)
{
    MPI_Datatype t = MPI_INT;
    MPI_Request q;
    int next = (rank + 1) % size;
    MPI_Op ops[] = {MPI_SUM, MPI_REPLACE, MPI_NO_OP};
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Put(NULL, 0, t, next, 0, 0, t, win));
    OK(MPI_Put_c(NULL, 0, t, next, 0, 0, t, win));
    OK(MPI_Get(NULL, 0, t, next, 0, 0, t, win));
    OK(MPI_Get_c(NULL, 0, t, next, 0, 0, t, win));
    ENDED(MPI_Rput(NULL, 0, t, next, 0, 0, t, win, &q), &q);
    ENDED(MPI_Rput_c(NULL, 0, t, next, 0, 0, t, win, &q), &q);
    ENDED(MPI_Rget(NULL, 0, t, next, 0, 0, t, win, &q), &q);
    ENDED(MPI_Rget_c(NULL, 0, t, next, 0, 0, t, win, &q), &q);
    for (int i = 0; i < 3; i++) {
        MPI_Op op = ops[i];
        if (op != MPI_NO_OP) {
            OK(MPI_Accumulate(NULL, 0, t, next, 0, 0, t, op, win));
            OK(MPI_Accumulate_c(NULL, 0, t, next, 0, 0, t, op, win));
            ENDED(MPI_Raccumulate(NULL, 0, t, next, 0, 0, t, op, win, &q), &q);
            ENDED(MPI_Raccumulate_c(NULL, 0, t, next, 0, 0, t, op, win, &q), &q);
        }
        OK(MPI_Get_accumulate(NULL, 0, t, NULL, 0, t, next, 0, 0, t, op, win));
        OK(MPI_Get_accumulate_c(NULL, 0, t, NULL, 0, t, next, 0, 0, t, op, win));
        ENDED(MPI_Rget_accumulate(NULL, 0, t, NULL, 0, t, next, 0, 0, t, op, win, &q), &q);
        ENDED(MPI_Rget_accumulate_c(NULL, 0, t, NULL, 0, t, next, 0, 0, t, op, win, &q), &q);
    }
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
}

static void windows(void)
{
    MPI_Win win;
    void *base;
    OK(MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    accesses(win);
    OK(MPI_Win_create_c(NULL, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    accesses(win);
    OK(MPI_Win_allocate(0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    accesses(win);
    OK(MPI_Win_allocate_shared(0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    accesses(win);
    OK(MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    accesses(win);
    OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_attach(win, NULL, 0));
    OK(MPI_Win_detach(win, NULL));
    accesses(win);
}

#define FILED(name, ...)                                                                           \
    do {                                                                                           \
        MPI_Request q_;                                                                            \
        OK(MPI_File_##name(__VA_ARGS__, NULL, 0, t, &status));                                     \
        OK(MPI_File_##name##_c(__VA_ARGS__, NULL, 0, t, &status));                                 \
        ENDED(MPI_File_i##name(__VA_ARGS__, NULL, 0, t, &q_), &q_);                           \
        ENDED(MPI_File_i##name##_c(__VA_ARGS__, NULL, 0, t, &q_), &q_);                       \
    } while (0)

#define SPLIT(name, ...)                                                                           \
    do {                                                                                           \
        OK(MPI_File_##name##_begin(__VA_ARGS__, NULL, 0, t));                                      \
        OK(MPI_File_##name##_end(fh, NULL, &status));                                              \
        OK(MPI_File_##name##_begin_c(__VA_ARGS__, NULL, 0, t));                                    \
        OK(MPI_File_##name##_end(fh, NULL, &status));                                              \
    } while (0)

static void filed(MPI_File fh)
{
    MPI_Status status;
    MPI_Datatype t = MPI_INT;
    FILED(read_at, fh, 0);
    FILED(write_at, fh, 0);
    FILED(read_at_all, fh, 0);
    FILED(write_at_all, fh, 0);
    FILED(read, fh);
    FILED(write, fh);
    FILED(read_all, fh);
    FILED(write_all, fh);
    FILED(read_shared, fh);
    FILED(write_shared, fh);
    OK(MPI_File_read_ordered(fh, NULL, 0, t, &status));
    OK(MPI_File_read_ordered_c(fh, NULL, 0, t, &status));
    OK(MPI_File_write_ordered(fh, NULL, 0, t, &status));
    OK(MPI_File_write_ordered_c(fh, NULL, 0, t, &status));
    SPLIT(read_at_all, fh, 0);
    SPLIT(write_at_all, fh, 0);
    SPLIT(read_all, fh);
    SPLIT(write_all, fh);
    SPLIT(read_ordered, fh);
    SPLIT(write_ordered, fh);
}

static void files(void)
{
    name_file("no-elements");
    MPI_File fh = fresh(MPI_MODE_RDWR);
    filed(fh);
    OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "external32", MPI_INFO_NULL));
    filed(fh);
    OK(MPI_File_close(&fh));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (int i = 0; i < MANY; i++) types[i] = MPI_INT;
    /* Gaps before, between and behind its data. */
    int lengths[] = {1, 2};
    MPI_Aint places[] = {8, 24};
    MPI_Datatype each[] = {MPI_INT, MPI_DOUBLE};
    OK(MPI_Type_create_struct(2, lengths, places, each, &types[1]));
    OK(MPI_Type_commit(&types[1]));

    /* Also an empty message needs room for what it is. */
    static char buffered[64 * MPI_BSEND_OVERHEAD];
    void *detached;
    int bytes;
    OK(MPI_Buffer_attach(buffered, sizeof buffered));
    messages(MPI_INT);
    messages(types[1]);
    OK(MPI_Buffer_detach(&detached, &bytes));
    partitioned();
    packing();
    attached();
    /* Often: the first ones go by packets, the later ones by shared memory. */
    for (int round = 0; round < 3; round++) {
        reductions(MPI_COMM_WORLD, size - 1, 0);
        exchanges(MPI_COMM_WORLD, size - 1);
        in_place(MPI_COMM_WORLD);
        some_without();
    }
    neighbors();
    windows();
    files();
    if (size > 1) {
        MPI_Comm half, between;
        OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half));
        OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 6, &between));
        OK(MPI_Comm_set_errhandler(between, MPI_ERRORS_RETURN));
        /* From the first of the odd ranks to the even ones. */
        int root = rank % 2 == 0 ? 0 : rank == 1 ? MPI_ROOT : MPI_PROC_NULL;
        reductions(between, root, 1);
        exchanges(between, root);
        OK(MPI_Comm_free(&between));
        OK(MPI_Comm_free(&half));
    }
    OK(MPI_Type_free(&types[1]));
    return conclude();
}
