/* Sessions: before, beside and after the world, several at a time, again and again; process sets; buffers; error handlers. */
#include "check.h"

static int called, last;
static MPI_Session whose;

static void handle(MPI_Session *session, int *code, ...)
{
    called++;
    last = *code;
    whose = *session;
}

static int class_of(int code)
{
    int class;
    MPI_Error_class(code, &class);
    return class;
}

/* A communicator of a set, by a session. */
static MPI_Comm of_set(MPI_Session session, const char *set, const char *tag)
{
    MPI_Group group;
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Group_from_session_pset(session, set, &group);
    MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    MPI_Group_free(&group);
    return comm;
}

static int sum_over(MPI_Comm comm)
{
    int one = 1, sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    return sum;
}

static void sets(MPI_Session session)
{
    int n, world = 0, self = 0, flag;
    MPI_Info info;
    char value[32];
    MPI_Session_get_num_psets(session, MPI_INFO_NULL, &n);
    CHECK(n >= 2);
    for (int i = 0; i < n; i++) {
        int length = 0, room = 6;
        char name[MPI_MAX_PSET_NAME_LEN], cut[6];
        MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, NULL);
        MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &room, cut);
        SAME(room, length);
        SAME(strlen(cut), 5);
        MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, name);
        SAME(strlen(name) + 1, length);
        CHECK(strncmp(name, cut, 5) == 0);
        world += !strcmp(name, "mpi://WORLD");
        self += !strcmp(name, "mpi://SELF");
    }
    CHECK(world == 1 && self == 1);
    MPI_Session_get_pset_info(session, "mpi://SELF", &info);
    MPI_Info_get(info, "mpi_size", 31, value, &flag);
    CHECK(flag && !strcmp(value, "1"));
    MPI_Info_free(&info);
    MPI_Session_get_info(session, &info);
    MPI_Info_get(info, "thread_level", 31, value, &flag);
    CHECK(flag && !strncmp(value, "MPI_THREAD_", 11));
    MPI_Info_free(&info);
}

static void wrong(MPI_Session session)
{
    MPI_Errhandler handler, found;
    MPI_Group group;
    int n, before = called, length = 0;
    MPI_Session_create_errhandler(handle, &handler);
    MPI_Session_set_errhandler(session, handler);
    MPI_Session_get_errhandler(session, &found);
    CHECK(found == handler);
    MPI_Errhandler_free(&found);
    MPI_Errhandler_free(&handler);
    SAME(class_of(MPI_Group_from_session_pset(session, "mpi://NOBODY", &group)), MPI_ERR_ARG);
    CHECK(called == before + 1 && class_of(last) == MPI_ERR_ARG && whose == session);
    CHECK(group == MPI_GROUP_NULL);
    MPI_Session_get_num_psets(session, MPI_INFO_NULL, &n);
    SAME(class_of(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &length, NULL)), MPI_ERR_ARG);
    MPI_Session_call_errhandler(session, MPI_ERR_OTHER);
    CHECK(called == before + 3 && last == MPI_ERR_OTHER);
    MPI_Session_set_errhandler(session, MPI_ERRORS_RETURN);
}

/* The session's buffer takes the messages of its communicators that have none. */
static void buffers(MPI_Session session, MPI_Comm comm)
{
    int me, n, out = 5, in = 0, bytes = 0;
    char *room = malloc(1000 + MPI_BSEND_OVERHEAD), *back = NULL;
    MPI_Request request;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    SAME(class_of(MPI_Bsend(&out, 1, MPI_INT, me, 0, comm)), MPI_ERR_BUFFER);
    MPI_Session_attach_buffer(session, room, 1000 + MPI_BSEND_OVERHEAD);
    SAME(MPI_Bsend(&out, 1, MPI_INT, (me + 1) % n, 0, comm), MPI_SUCCESS);
    MPI_Recv(&in, 1, MPI_INT, (me + n - 1) % n, 0, comm, MPI_STATUS_IGNORE);
    SAME(in, 5);
    MPI_Session_flush_buffer(session);
    MPI_Session_iflush_buffer(session, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Session_detach_buffer(session, &back, &bytes);
    CHECK(back == room && bytes == 1000 + MPI_BSEND_OVERHEAD);
    SAME(class_of(MPI_Bsend(&out, 1, MPI_INT, me, 0, comm)), MPI_ERR_BUFFER);
    MPI_Count large = 0;
    MPI_Session_attach_buffer_c(session, room, 500 + MPI_BSEND_OVERHEAD);
    MPI_Session_detach_buffer_c(session, &back, &large);
    SAME(large, 500 + MPI_BSEND_OVERHEAD);
    free(room);
}

static void all_of(MPI_Session session, const char *tag)
{
    MPI_Comm world = of_set(session, "mpi://WORLD", tag), self = of_set(session, "mpi://SELF", tag), copy;
    int n;
    MPI_Comm_size(world, &n);
    SAME(sum_over(world), n);
    SAME(sum_over(self), 1);
    MPI_Comm_dup(world, &copy);
    SAME(sum_over(copy), n);
    buffers(session, copy);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&world);
    MPI_Comm_free(&self);
}

int main(int argc, char **argv)
{
    MPI_Session first, second;
    MPI_Info info;
    int flag;
    /* A session alone: MPI is not initialized in the sense of the world model. */
    SAME(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &first), MPI_SUCCESS);
    MPI_Initialized(&flag);
    CHECK(!flag);
    sets(first);
    all_of(first, "test://first");
    wrong(first);
    CHECK(MPI_Session_fromint(MPI_Session_toint(first)) == first);
    CHECK(MPI_Session_toint(MPI_SESSION_NULL) < 4096);
    MPI_Session_finalize(&first);
    CHECK(first == MPI_SESSION_NULL);

    /* Again, after the last one has ended; with two at a time. */
    MPI_Info_create(&info);
    MPI_Info_set(info, "thread_level", "MPI_THREAD_FUNNELED");
    MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, &first);
    MPI_Info_free(&info);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &second);
    CHECK(first != second);
    all_of(first, "test://again");
    all_of(second, "test://beside");
    MPI_Session_get_info(first, &info);
    char level[64];
    MPI_Info_get(info, "thread_level", 63, level, &flag);
    CHECK(flag && !strcmp(level, "MPI_THREAD_FUNNELED"));
    MPI_Info_free(&info);
    MPI_Session_finalize(&first);

    /* The world beside a session that began before and ends after it. */
    begin(&argc, &argv);
    MPI_Initialized(&flag);
    CHECK(flag);
    SAME(sum_over(MPI_COMM_WORLD), size);
    all_of(second, "test://world");
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &first);
    all_of(first, "test://inside");
    MPI_Session_finalize(&first);
    int status = 0, all = failures;
    MPI_Reduce(&failures, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    MPI_Finalized(&flag);
    CHECK(flag);
    all_of(second, "test://after");
    MPI_Session_finalize(&second);
    /* And once more, when all is over. */
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &first);
    all_of(first, "test://last");
    MPI_Comm last_of_all = of_set(first, "mpi://WORLD", "test://end");
    int sum = 0;
    MPI_Allreduce(&failures, &sum, 1, MPI_INT, MPI_SUM, last_of_all);
    MPI_Comm_free(&last_of_all);
    MPI_Session_finalize(&first);
    if (rank == 0 && sum == 0) puts("no errors");
    return status;
}
