/* A handle that is refused: the sentence says whether it was freed, or never given out. */
#include "files.h"

static char text[MPI_MAX_ERROR_STRING];

static void told(int code, int class, int line, const char *words)
{
    int length = 0, found = -1;
    MPI_Error_class(code, &found);
    MPI_Error_string(code, text, &length);
    if ((found != class || !strstr(text, words)) && count_failure())
        fprintf(stderr, "rank %d, line %d: class %d, expected %d and \"%s\": %s\n", rank, line, found, class,
                words, text);
}

#define FREED(call, class) told(call, class, __LINE__, "was freed")
#define NEVER(call, class) told(call, class, __LINE__, "no such handle")

#define OF(Type, make, use, release, class)                                                        \
    do {                                                                                           \
        Type handle, stale;                                                                        \
        SAME(make, MPI_SUCCESS);                                                                   \
        stale = handle;                                                                            \
        SAME(release, MPI_SUCCESS);                                                                \
        handle = stale;                                                                            \
        FREED(use, class);                                                                         \
        handle = (Type)0;                                                                          \
        NEVER(use, class);                                                                         \
        handle = (Type)(size_t)0x123456789;                                                        \
        NEVER(use, class);                                                                         \
        /* Of the same kind, but of a slot that was never used. */                                 \
        handle = (Type)((size_t)stale + 5000);                                                     \
        NEVER(use, class);                                                                         \
    } while (0)

static void join(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)count, (void)type;
}

static void handler(MPI_Comm *comm, int *code, ...) { (void)comm, (void)code; }

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm self = MPI_COMM_SELF;
    MPI_Info no = MPI_INFO_NULL;
    int n, flag;
    MPI_Status status;
    OF(MPI_Comm, MPI_Comm_dup(self, &handle), MPI_Comm_size(handle, &n), MPI_Comm_free(&handle), MPI_ERR_COMM);
    OF(MPI_Group, MPI_Comm_group(self, &handle), MPI_Group_size(handle, &n), MPI_Group_free(&handle),
       MPI_ERR_GROUP);
    OF(MPI_Group, MPI_Comm_group(self, &handle), MPI_Group_free(&handle), MPI_Group_free(&handle), MPI_ERR_GROUP);
    OF(MPI_Datatype, MPI_Type_contiguous(2, MPI_INT, &handle), MPI_Type_size(handle, &n), MPI_Type_free(&handle),
       MPI_ERR_TYPE);
    OF(MPI_Op, MPI_Op_create(join, 1, &handle), MPI_Op_commutative(handle, &n), MPI_Op_free(&handle), MPI_ERR_OP);
    OF(MPI_Op, MPI_Op_create(join, 1, &handle), MPI_Op_free(&handle), MPI_Op_free(&handle), MPI_ERR_OP);
    OF(MPI_Info, MPI_Info_create(&handle), MPI_Info_get_nkeys(handle, &n), MPI_Info_free(&handle), MPI_ERR_INFO);
    OF(MPI_Info, MPI_Info_create(&handle), MPI_Info_free(&handle), MPI_Info_free(&handle), MPI_ERR_INFO);
    OF(MPI_Errhandler, MPI_Comm_create_errhandler(handler, &handle), MPI_Comm_set_errhandler(self, handle),
       MPI_Errhandler_free(&handle), MPI_ERR_ERRHANDLER);
    OF(MPI_Session, MPI_Session_init(no, MPI_ERRORS_RETURN, &handle), MPI_Session_get_num_psets(handle, no, &n),
       MPI_Session_finalize(&handle), MPI_ERR_SESSION);
    OF(MPI_Win, MPI_Win_create(NULL, 0, 1, no, self, &handle), MPI_Win_fence(0, handle), MPI_Win_free(&handle),
       MPI_ERR_WIN);
    name_file("past");
    char own[300];
    snprintf(own, sizeof own, "%s-%d", path, rank);
    int amode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
    OF(MPI_File, MPI_File_open(self, own, amode, no, &handle), MPI_File_get_amode(handle, &n),
       MPI_File_close(&handle), MPI_ERR_FILE);

    /* Requests and messages have sentences of their own. */
    MPI_Request request, stale;
    MPI_Irecv(NULL, 0, MPI_INT, 0, 1, self, &request);
    stale = request;
    MPI_Send(NULL, 0, MPI_INT, 0, 1, self);
    MPI_Wait(&request, &status);
    request = stale;
    told(MPI_Wait(&request, &status), MPI_ERR_REQUEST, __LINE__, "was completed or freed before");
    told(MPI_Test(&stale, &flag, &status), MPI_ERR_REQUEST, __LINE__, "was completed or freed before");
    size_t never[] = {0, 0x123456789, (size_t)stale + 5000};
    for (int i = 0; i < 3; i++) {
        request = (MPI_Request)never[i];
        told(MPI_Wait(&request, &status), MPI_ERR_REQUEST, __LINE__, "ever begun");
        told(MPI_Cancel(&request), MPI_ERR_REQUEST, __LINE__, "ever begun");
        told(MPI_Start(&request), MPI_ERR_REQUEST, __LINE__, "ever begun");
        told(MPI_Request_free(&request), MPI_ERR_REQUEST, __LINE__, "ever begun");
    }
    MPI_Message message, taken;
    MPI_Send(NULL, 0, MPI_INT, 0, 1, self);
    MPI_Mprobe(0, 1, self, &message, &status);
    taken = message;
    MPI_Mrecv(NULL, 0, MPI_INT, &message, &status);
    told(MPI_Mrecv(NULL, 0, MPI_INT, &taken, &status), MPI_ERR_REQUEST, __LINE__, "was received before");
    taken = (MPI_Message)(size_t)0x123456789;
    told(MPI_Mrecv(NULL, 0, MPI_INT, &taken, &status), MPI_ERR_REQUEST, __LINE__, "ever matched");
    return conclude();
}
