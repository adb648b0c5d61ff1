/* Functions that make a communicator or session with a given error handler raise their errors on
 * it (MPI sections 7.4.2, 7.6.2 and 11.3.1): there is no such object yet that could have one. */
#include "check.h"

static int called, last, null_comms, null_sessions;

static void of_comm(MPI_Comm *comm, int *code, ...)
{
    called++;
    null_comms += *comm == MPI_COMM_NULL;
    MPI_Error_class(*code, &last);
}

static void of_session(MPI_Session *session, int *code, ...)
{
    called++;
    null_sessions += *session == MPI_SESSION_NULL;
    MPI_Error_class(*code, &last);
}

static int class_of(int code)
{
    int class = -1;
    MPI_Error_class(code, &class);
    return class;
}

/* With the handler of ours, which is called once, and with the one that returns. */
#define RAISED(class, call)                                                                        \
    do {                                                                                           \
        int before_ = called;                                                                      \
        MPI_Errhandler handler = own;                                                              \
        SAME(class_of(call), class);                                                               \
        SAME(called, before_ + 1);                                                                 \
        SAME(last, class);                                                                         \
        handler = MPI_ERRORS_RETURN;                                                               \
        SAME(class_of(call), class);                                                               \
        SAME(called, before_ + 1);                                                                 \
    } while (0)

int main(void)
{
    MPI_Session session, none = MPI_SESSION_NULL;
    MPI_Group world;
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Errhandler own, of_sessions;
    MPI_Info unknown = (MPI_Info)(size_t)0x7531;
    const MPI_Info no = MPI_INFO_NULL;

    MPI_Session_create_errhandler(of_session, &of_sessions);
    own = of_sessions;
    /* Before anything of MPI is active. */
    RAISED(MPI_ERR_INFO, MPI_Session_init(unknown, handler, &none));
    RAISED(MPI_ERR_ARG, MPI_Session_init(no, handler, NULL));
    SAME(null_sessions, called);

    SAME(MPI_Session_init(no, MPI_ERRORS_RETURN, &session), MPI_SUCCESS);
    RAISED(MPI_ERR_ARG, MPI_Session_init(no, handler, NULL));

    MPI_Comm_create_errhandler(of_comm, &own);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &world);
    RAISED(MPI_ERR_GROUP, MPI_Comm_create_from_group(MPI_GROUP_NULL, "t", no, handler, &comm));
    RAISED(MPI_ERR_ARG, MPI_Comm_create_from_group(world, NULL, no, handler, &comm));
    RAISED(MPI_ERR_ARG, MPI_Comm_create_from_group(world, "t", no, handler, NULL));
    RAISED(MPI_ERR_INFO, MPI_Comm_create_from_group(world, "t", unknown, handler, &comm));
    RAISED(MPI_ERR_GROUP,
           MPI_Intercomm_create_from_groups(MPI_GROUP_NULL, 0, world, 0, "t", no, handler, &comm));
    RAISED(MPI_ERR_ARG, MPI_Intercomm_create_from_groups(world, 0, world, 0, "t", no, handler, NULL));
    RAISED(MPI_ERR_RANK, MPI_Intercomm_create_from_groups(world, -7, world, 0, "t", no, handler, &comm));
    SAME(null_comms, 7);

    /* What is made has the handler. */
    SAME(MPI_Comm_create_from_group(world, "t", no, own, &comm), MPI_SUCCESS);
    int before = called;
    SAME(class_of(MPI_Send(NULL, 0, MPI_INT, -9, 0, comm)), MPI_ERR_RANK);
    SAME(called, before + 1);
    SAME(null_comms, 7);

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int all = 0;
    MPI_Reduce(&failures, &all, 1, MPI_INT, MPI_SUM, 0, comm);
    MPI_Comm_free(&comm);
    MPI_Group_free(&world);
    MPI_Errhandler_free(&own);
    MPI_Errhandler_free(&of_sessions);
    MPI_Session_finalize(&session);
    if (rank == 0 && all == 0) puts("no errors");
    return failures > 0;
}
