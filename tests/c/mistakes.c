/* One mistake a case. Without an argument every case is made under MPI_ERRORS_RETURN, and its class and its sentence are checked;
 * `list` prints the cases, each with the words that its sentence has; a case's name makes it under the default handler. */
#include "check.h"

#include <ctype.h>

static int number, flag;
static long data[4];
static char large[1 << 20];
static MPI_Comm world, freed;

/* Function and argument of a mistake, its class, and what a reader must find in the sentence. */
struct mistake {
    const char *name;
    int (*make)(void);
    int class;
    const char *words[4];
};

static int partner(void) { return rank ^ 1; }

static int negative_count(void) { return MPI_Send(data, -3, MPI_LONG, 0, 0, world); }
static int negative_receive_count(void) { return MPI_Recv(data, -1, MPI_LONG, 0, 0, world, MPI_STATUS_IGNORE); }
static int rank_too_large(void) { return MPI_Send(data, 1, MPI_LONG, 77, 0, world); }
static int rank_negative(void) { return MPI_Ssend(data, 1, MPI_LONG, -5, 0, world); }
static int source_too_large(void) { return MPI_Recv(data, 1, MPI_LONG, 99, 0, world, MPI_STATUS_IGNORE); }
static int send_to_any_source(void) { return MPI_Send(data, 1, MPI_LONG, MPI_ANY_SOURCE, 0, world); }
static int tag_negative(void) { return MPI_Send(data, 1, MPI_LONG, 0, -42, world); }
static int tag_any_in_send(void) { return MPI_Send(data, 1, MPI_LONG, 0, MPI_ANY_TAG, world); }
static int comm_freed(void) { return MPI_Send(data, 1, MPI_LONG, 0, 0, freed); }
static int comm_null(void) { return MPI_Barrier(MPI_COMM_NULL); }
static int comm_garbage(void) { return MPI_Comm_size((MPI_Comm)(void *)0x5eadbeef, &number); }
static int comm_of_another_kind(void) { return MPI_Comm_rank((MPI_Comm)MPI_DOUBLE, &number); }
static int null_buffer(void) { return MPI_Send(NULL, 2, MPI_LONG, 0, 0, world); }
static int null_receive_buffer(void) { return MPI_Recv(NULL, 2, MPI_LONG, 0, 0, world, MPI_STATUS_IGNORE); }
static int root_too_large(void) { return MPI_Bcast(data, 1, MPI_LONG, 1234, world); }
static int root_negative(void) { return MPI_Gather(data, 1, MPI_LONG, data, 1, MPI_LONG, -9, world); }
static int null_output(void) { return MPI_Comm_size(world, NULL); }
static int null_request(void) { return MPI_Isend(data, 1, MPI_LONG, MPI_PROC_NULL, 0, world, NULL); }
static int datatype_null(void) { return MPI_Send(data, 1, MPI_DATATYPE_NULL, 0, 0, world); }
static int datatype_garbage(void) { return MPI_Send(data, 1, (MPI_Datatype)(void *)0x12345670, 0, 0, world); }
static int op_on_wrong_type(void) { return MPI_Allreduce(MPI_IN_PLACE, data, 1, MPI_DOUBLE, MPI_BAND, world); }
static int allreduce_aliased(void) { return MPI_Allreduce(data, data, 1, MPI_LONG, MPI_SUM, world); }
static int allgather_aliased(void) { return MPI_Allgather(data + rank, 1, MPI_LONG, data, 1, MPI_LONG, world); }
static int op_null(void) { return MPI_Reduce_local(data, data + 1, 1, MPI_LONG, MPI_OP_NULL); }
static int predefined_freed(void) { MPI_Datatype type = MPI_INT; return MPI_Type_free(&type); }
static int world_freed(void) { MPI_Comm comm = MPI_COMM_WORLD; return MPI_Comm_free(&comm); }
static int group_null(void) { return MPI_Group_size(MPI_GROUP_NULL, &number); }
static int info_null(void) { return MPI_Info_set(MPI_INFO_NULL, "key", "value"); }
static int keyval_unknown(void) { void *value; return MPI_Comm_get_attr(world, 987, &value, &flag); }
static int errhandler_null(void) { return MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRHANDLER_NULL); }

static int datatype_uncommitted(void)
{
    MPI_Datatype type;
    MPI_Type_contiguous(2, MPI_INT, &type);
    int code = MPI_Send(data, 1, type, 0, 0, world);
    MPI_Type_free(&type);
    return code;
}

static int request_freed(void)
{
    MPI_Request request, stale;
    MPI_Send_init(data, 1, MPI_LONG, MPI_PROC_NULL, 0, world, &request);
    stale = request;
    MPI_Request_free(&request);
    return MPI_Wait(&stale, MPI_STATUS_IGNORE);
}

static int start_of_a_request_that_is_not_persistent(void)
{
    MPI_Request request = MPI_REQUEST_NULL;
    return MPI_Start(&request);
}

static int group_rank_too_large(void)
{
    MPI_Group group, part;
    int ranks[] = {1000};
    MPI_Comm_group(world, &group);
    int code = MPI_Group_incl(group, 1, ranks, &part);
    MPI_Group_free(&group);
    return code;
}

static int truncated(int bytes, int room)
{
    MPI_Request request;
    MPI_Isend(large, bytes, MPI_CHAR, partner(), 5, world, &request);
    static char in[1 << 20];
    int code = MPI_Recv(in, room, MPI_CHAR, partner(), 5, world, MPI_STATUS_IGNORE);
    SAME(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    return code;
}
static int truncated_eager(void) { return truncated(100, 10); }
static int truncated_rendezvous(void) { return truncated(sizeof large, 1000); }

static int window(void)
{
    MPI_Win win;
    return MPI_Win_create(NULL, sizeof data, 1, MPI_INFO_NULL, world, &win);
}

static int window_null(void) { return MPI_Win_set_name(MPI_WIN_NULL, "name"); }
static int window_garbage(void) { MPI_Group group; return MPI_Win_get_group((MPI_Win)(void *)0x5eadbeef, &group); }
static int window_of_another_kind(void) { MPI_Win win = (MPI_Win)MPI_COMM_WORLD; return MPI_Win_free(&win); }

static int window_freed(void)
{
    MPI_Win win, stale;
    MPI_Win_create_dynamic(MPI_INFO_NULL, world, &win);
    stale = win;
    MPI_Win_free(&win);
    return MPI_Win_attach(stale, data, sizeof data);
}

static const struct mistake mistakes[] = {
    {"negative-count", negative_count, MPI_ERR_COUNT, {"MPI_Send", "count is -3"}},
    {"negative-receive-count", negative_receive_count, MPI_ERR_COUNT, {"MPI_Recv", "count is -1"}},
    {"rank-too-large", rank_too_large, MPI_ERR_RANK, {"MPI_Send", "dest is 77", "0 to 1"}},
    {"rank-negative", rank_negative, MPI_ERR_RANK, {"MPI_Ssend", "dest is -5"}},
    {"source-too-large", source_too_large, MPI_ERR_RANK, {"MPI_Recv", "source is 99"}},
    {"send-to-any-source", send_to_any_source, MPI_ERR_RANK, {"MPI_Send", "dest is"}},
    {"tag-negative", tag_negative, MPI_ERR_TAG, {"MPI_Send", "tag is -42"}},
    {"tag-any-in-send", tag_any_in_send, MPI_ERR_TAG, {"MPI_Send", "tag is"}},
    {"comm-freed", comm_freed, MPI_ERR_COMM, {"MPI_Send", "comm is 0x", "freed"}},
    {"comm-null", comm_null, MPI_ERR_COMM, {"MPI_Barrier", "comm is"}},
    {"comm-garbage", comm_garbage, MPI_ERR_COMM, {"MPI_Comm_size", "comm is 0x5eadbeef"}},
    {"comm-of-another-kind", comm_of_another_kind, MPI_ERR_COMM, {"MPI_Comm_rank", "comm is 0x"}},
    {"null-buffer", null_buffer, MPI_ERR_BUFFER, {"MPI_Send", "buf is a null pointer"}},
    {"null-receive-buffer", null_receive_buffer, MPI_ERR_BUFFER, {"MPI_Recv", "buf is a null pointer"}},
    {"root-too-large", root_too_large, MPI_ERR_ROOT, {"MPI_Bcast", "root is 1234"}},
    {"root-negative", root_negative, MPI_ERR_ROOT, {"MPI_Gather", "root is -9"}},
    {"null-output", null_output, MPI_ERR_ARG, {"MPI_Comm_size", "size is a null pointer"}},
    {"null-request", null_request, MPI_ERR_ARG, {"MPI_Isend", "request is a null pointer"}},
    {"datatype-null", datatype_null, MPI_ERR_TYPE, {"MPI_Send", "datatype is"}},
    {"datatype-garbage", datatype_garbage, MPI_ERR_TYPE, {"MPI_Send", "datatype is 0x12345670"}},
    {"datatype-uncommitted", datatype_uncommitted, MPI_ERR_TYPE, {"MPI_Send", "datatype", "commit"}},
    {"op-on-wrong-type", op_on_wrong_type, MPI_ERR_OP, {"MPI_Allreduce", "op is MPI_BAND", "doubles"}},
    {"allreduce-aliased", allreduce_aliased, MPI_ERR_BUFFER, {"MPI_Allreduce", "sendbuf and recvbuf name the same memory"}},
    {"allgather-aliased", allgather_aliased, MPI_ERR_BUFFER, {"MPI_Allgather", "sendbuf and recvbuf name the same memory"}},
    {"op-null", op_null, MPI_ERR_OP, {"MPI_Reduce_local", "op is"}},
    {"predefined-freed", predefined_freed, MPI_ERR_TYPE, {"MPI_Type_free", "MPI_INT"}},
    {"world-freed", world_freed, MPI_ERR_COMM, {"MPI_Comm_free", "MPI_COMM_WORLD"}},
    {"group-null", group_null, MPI_ERR_GROUP, {"MPI_Group_size", "group is"}},
    {"group-rank-too-large", group_rank_too_large, MPI_ERR_RANK, {"MPI_Group_incl", "1000"}},
    {"info-null", info_null, MPI_ERR_INFO, {"MPI_Info_set", "MPI_INFO_NULL"}},
    {"keyval-unknown", keyval_unknown, MPI_ERR_KEYVAL, {"MPI_Comm_get_attr", "987"}},
    {"errhandler-null", errhandler_null, MPI_ERR_ERRHANDLER, {"MPI_Comm_set_errhandler", "errhandler is"}},
    {"request-freed", request_freed, MPI_ERR_REQUEST, {"MPI_Wait", "request was completed or freed"}},
    {"start-of-null", start_of_a_request_that_is_not_persistent, MPI_ERR_REQUEST, {"MPI_Start", "request"}},
    {"truncated-eager", truncated_eager, MPI_ERR_TRUNCATE, {"MPI_Recv", "100 bytes", "10"}},
    {"truncated-rendezvous", truncated_rendezvous, MPI_ERR_TRUNCATE, {"MPI_Recv", "1048576 bytes", "1000"}},
    {"window", window, MPI_ERR_BASE, {"MPI_Win_create", "base is 0x0", "expected the address"}},
    {"window-null", window_null, MPI_ERR_WIN, {"MPI_Win_set_name", "win is MPI_WIN_NULL"}},
    {"window-garbage", window_garbage, MPI_ERR_WIN, {"MPI_Win_get_group", "win is 0x5eadbeef"}},
    {"window-of-another-kind", window_of_another_kind, MPI_ERR_WIN, {"MPI_Win_free", "win is 0x"}},
    {"window-freed", window_freed, MPI_ERR_WIN, {"MPI_Win_attach", "win is 0x", "freed"}},
};
enum { MISTAKES = sizeof mistakes / sizeof *mistakes };

/* A sentence names function, rank and what was expected, on one line. */
static void check_sentence(const struct mistake *mistake, int code)
{
    char text[MPI_MAX_ERROR_STRING], who[32];
    int class, length;
    snprintf(who, sizeof who, "rank %d", rank);
    MPI_Error_class(code, &class);
    MPI_Error_string(code, text, &length);
    int bad = class != mistake->class || length != (int)strlen(text) || strchr(text, '\n') || !strstr(text, who) ||
              !isalpha((unsigned char)text[0]) || length < 30;
    for (int i = 0; i < 4 && mistake->words[i]; i++) bad |= !strstr(text, mistake->words[i]);
    if (bad) {
        failures++;
        fprintf(stderr, "%s: class %d, expected %d: %s\n", mistake->name, class, mistake->class, text);
    }
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    world = MPI_COMM_WORLD;
    MPI_Comm_dup(MPI_COMM_WORLD, &freed);
    MPI_Comm copy = freed;
    MPI_Comm_free(&copy);

    if (argc > 1 && !strcmp(argv[1], "list")) {
        for (int i = 0; rank == 0 && i < MISTAKES; i++) {
            printf("%s", mistakes[i].name);
            for (int w = 0; w < 4 && mistakes[i].words[w]; w++) printf("\t%s", mistakes[i].words[w]);
            puts("");
        }
    } else if (argc > 1) {
        for (int i = 0; i < MISTAKES; i++)
            if (!strcmp(argv[1], mistakes[i].name)) mistakes[i].make();
        puts("still here");
    } else {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
        for (int i = 0; i < MISTAKES; i++) {
            check_sentence(&mistakes[i], mistakes[i].make());
            /* The mistake has broken nothing. */
            int mine = rank + 1, sum = 0;
            MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, world);
            SAME(sum, size * (size + 1) / 2);
        }
        return conclude();
    }
    MPI_Finalize();
    return 0;
}
