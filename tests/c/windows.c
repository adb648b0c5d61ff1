/* Windows as objects: life, members, attributes, names, hints, error handlers, attached memory, integers. */
#include "check.h"

static int class_of(int code)
{
    int class;
    MPI_Error_class(code, &class);
    return class;
}

static MPI_Win window_of(MPI_Comm comm)
{
    MPI_Win win = MPI_WIN_NULL;
    SAME(MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &win), MPI_SUCCESS);
    CHECK(win != MPI_WIN_NULL);
    return win;
}

/* A window has the members of its communicator, and outlives it. */
static void members(void)
{
    MPI_Comm half, comms[3] = {MPI_COMM_WORLD, MPI_COMM_SELF, MPI_COMM_NULL};
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    comms[2] = half;
    for (int i = 0; i < 3; i++) {
        MPI_Group of_win, of_comm;
        int result = MPI_UNEQUAL;
        MPI_Win win = window_of(comms[i]);
        MPI_Comm_group(comms[i], &of_comm);
        if (i == 2) MPI_Comm_free(&half);
        SAME(MPI_Win_get_group(win, &of_win), MPI_SUCCESS);
        MPI_Group_compare(of_win, of_comm, &result);
        SAME(result, MPI_IDENT);
        MPI_Group_free(&of_win);
        MPI_Group_free(&of_comm);
        SAME(MPI_Win_free(&win), MPI_SUCCESS);
        CHECK(win == MPI_WIN_NULL);
    }
}

/* Nobody gets out of MPI_Win_free before all have come: the last one looks for messages of those who did. */
static void free_waits(void)
{
    int last = size - 1, flag = 0, out = 1;
    MPI_Win win = window_of(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int look = 0; rank == last && look < 3000; look++) {
        MPI_Iprobe(MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        CHECK(!flag);
        if (flag) break;
    }
    MPI_Win_free(&win);
    if (rank != last) MPI_Send(&out, 1, MPI_INT, last, 77, MPI_COMM_WORLD);
    for (int i = 0; rank == last && i < last; i++)
        MPI_Recv(&out, 1, MPI_INT, MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Traffic of many windows and of communicators does not meet. */
static void many(void)
{
    MPI_Win wins[20];
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 20; i++) wins[i] = window_of(i % 2 ? MPI_COMM_WORLD : MPI_COMM_SELF);
        int one = 1, sum = 0;
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        SAME(sum, size);
        for (int i = 0; i < 20; i++)
            for (int j = 0; j < i; j++) CHECK(wins[i] != wins[j]);
        for (int i = 19; i >= 0; i--) MPI_Win_free(&wins[i]);
    }
}

static int deleted, copied, refusing;
static int last_keys[8];
static void *last_values[8];
static MPI_Win expected_win;

static int copy(MPI_Win win, int key, void *extra, void *in, void *out, int *flag)
{
    (void)win, (void)key, (void)extra, (void)in, (void)out;
    copied++;
    *flag = 0;
    return MPI_SUCCESS;
}

/* The window is whole as long as it has attributes. */
static int delete(MPI_Win win, int key, void *value, void *extra)
{
    char name[MPI_MAX_OBJECT_NAME];
    int length;
    CHECK(win == expected_win && extra == &deleted);
    SAME(MPI_Win_get_name(win, name, &length), MPI_SUCCESS);
    CHECK(!strcmp(name, "with attributes"));
    if (refusing) return MPI_ERR_OTHER;
    last_keys[deleted % 8] = key;
    last_values[deleted % 8] = value;
    deleted++;
    return MPI_SUCCESS;
}

static void attributes(void)
{
    int keys[3], plain, of_comm, flag = -1, saved;
    char places[4];
    void *value;
    MPI_Win win = expected_win = window_of(MPI_COMM_WORLD), other = window_of(MPI_COMM_WORLD);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_set_name(win, "with attributes");
    for (int i = 0; i < 3; i++) SAME(MPI_Win_create_keyval(copy, delete, &keys[i], &deleted), MPI_SUCCESS);
    MPI_Win_create_keyval(MPI_WIN_DUP_FN, MPI_WIN_NULL_DELETE_FN, &plain, NULL);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &of_comm, NULL);

    SAME(MPI_Win_get_attr(win, keys[0], &value, &flag), MPI_SUCCESS);
    SAME(flag, 0);
    for (int i = 0; i < 3; i++) SAME(MPI_Win_set_attr(win, keys[i], &places[i]), MPI_SUCCESS);
    SAME(MPI_Win_set_attr(win, plain, &places[3]), MPI_SUCCESS);
    for (int i = 0; i < 3; i++) {
        SAME(MPI_Win_get_attr(win, keys[i], &value, &flag), MPI_SUCCESS);
        CHECK(flag && value == &places[i]);
    }
    MPI_Win_get_attr(other, keys[0], &value, &flag);
    SAME(flag, 0);
    SAME(deleted, 0);
    /* A new value replaces the old one, which is deleted. */
    SAME(MPI_Win_set_attr(win, keys[0], &places[3]), MPI_SUCCESS);
    CHECK(deleted == 1 && last_keys[0] == keys[0] && last_values[0] == &places[0]);
    SAME(MPI_Win_delete_attr(win, keys[1]), MPI_SUCCESS);
    CHECK(deleted == 2 && last_keys[1] == keys[1] && last_values[1] == &places[1]);
    MPI_Win_get_attr(win, keys[1], &value, &flag);
    SAME(flag, 0);
    /* Keys of other objects, of nobody, and those that the library sets. */
    SAME(class_of(MPI_Win_set_attr(win, of_comm, NULL)), MPI_ERR_KEYVAL);
    SAME(class_of(MPI_Win_get_attr(win, MPI_TAG_UB, &value, &flag)), MPI_ERR_KEYVAL);
    SAME(class_of(MPI_Win_delete_attr(win, MPI_KEYVAL_INVALID)), MPI_ERR_KEYVAL);
    SAME(class_of(MPI_Win_set_attr(win, MPI_WIN_BASE, NULL)), MPI_ERR_KEYVAL);
    SAME(class_of(MPI_Win_delete_attr(win, MPI_WIN_MODEL)), MPI_ERR_KEYVAL);
    /* A key that is freed serves as long as the attribute is there. */
    saved = keys[2];
    MPI_Win_free_keyval(&keys[2]);
    SAME(keys[2], MPI_KEYVAL_INVALID);
    MPI_Win_get_attr(win, saved, &value, &flag);
    CHECK(flag && value == &places[2]);
    /* A window whose attribute will not go stays. */
    refusing = 1;
    MPI_Win kept = win;
    SAME(class_of(MPI_Win_delete_attr(win, keys[0])), MPI_ERR_OTHER);
    SAME(class_of(MPI_Win_free(&win)), MPI_ERR_OTHER);
    CHECK(win == kept);
    MPI_Win_get_attr(win, keys[0], &value, &flag);
    CHECK(flag && value == &places[3]);
    refusing = 0;
    /* The latest goes first. */
    SAME(MPI_Win_free(&win), MPI_SUCCESS);
    SAME(deleted, 4);
    CHECK(last_keys[2] == keys[0] && last_values[2] == &places[3]);
    CHECK(last_keys[3] == saved && last_values[3] == &places[2]);
    SAME(copied, 0);
    MPI_Win_free_keyval(&keys[0]);
    MPI_Win_free_keyval(&keys[1]);
    MPI_Win_free_keyval(&plain);
    MPI_Comm_free_keyval(&of_comm);
    MPI_Win_free(&other);
}

static void predefined_attributes(void)
{
    MPI_Win win = window_of(MPI_COMM_WORLD);
    void *base = &win;
    MPI_Aint *bytes = NULL;
    int *unit = NULL, *flavor = NULL, *model = NULL, flag = 0;
    SAME(MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &flag), MPI_SUCCESS);
    CHECK(flag && base == MPI_BOTTOM);
    MPI_Win_get_attr(win, MPI_WIN_SIZE, &bytes, &flag);
    CHECK(flag && *bytes == 0);
    MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &unit, &flag);
    CHECK(flag && *unit == 1);
    MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavor, &flag);
    CHECK(flag && *flavor == MPI_WIN_FLAVOR_DYNAMIC);
    MPI_Win_get_attr(win, MPI_WIN_MODEL, &model, &flag);
    CHECK(flag && *model == MPI_WIN_UNIFIED);
    MPI_Win_free(&win);
}

static void names(void)
{
    char name[MPI_MAX_OBJECT_NAME] = "?", longest[2 * MPI_MAX_OBJECT_NAME];
    int length = -1;
    MPI_Win win = window_of(MPI_COMM_WORLD), other = window_of(MPI_COMM_WORLD);
    MPI_Win_get_name(win, name, &length);
    CHECK(length == 0 && name[0] == 0);
    SAME(MPI_Win_set_name(win, "halo"), MPI_SUCCESS);
    MPI_Win_get_name(win, name, &length);
    CHECK(length == 4 && !strcmp(name, "halo"));
    MPI_Win_get_name(other, name, &length);
    SAME(length, 0);
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = 0;
    MPI_Win_set_name(win, longest);
    MPI_Win_get_name(win, name, &length);
    CHECK(length == MPI_MAX_OBJECT_NAME - 1 && (int)strlen(name) == length);
    SAME(MPI_Win_get_name(MPI_WIN_NULL, name, &length), MPI_SUCCESS);
    CHECK(!strcmp(name, "MPI_WIN_NULL") && length == 12);
    MPI_Win_free(&win);
    MPI_Win_free(&other);
}

static int hint_is(MPI_Win win, const char *key, const char *expected)
{
    MPI_Info info;
    char value[64] = "";
    int flag = 0;
    MPI_Win_get_info(win, &info);
    MPI_Info_get(info, key, 63, value, &flag);
    MPI_Info_free(&info);
    return expected ? flag && !strcmp(value, expected) : !flag;
}

static void hints(void)
{
    MPI_Info info;
    MPI_Win plain = window_of(MPI_COMM_WORLD), win;
    const char *defaults[][2] = {{"no_locks", "false"},
                                 {"accumulate_ordering", "rar,raw,war,waw"},
                                 {"accumulate_ops", "same_op_no_op"},
                                 {"mpi_accumulate_granularity", "0"},
                                 {"same_size", "false"},
                                 {"same_disp_unit", "false"}};
    for (int i = 0; i < 6; i++) CHECK(hint_is(plain, defaults[i][0], defaults[i][1]));
    MPI_Info_create(&info);
    MPI_Info_set(info, "no_locks", "true");
    MPI_Info_set(info, "accumulate_ordering", "none");
    MPI_Info_set(info, "same_size", "perhaps");
    MPI_Info_set(info, "of_another_library", "true");
    SAME(MPI_Win_create_dynamic(info, MPI_COMM_WORLD, &win), MPI_SUCCESS);
    MPI_Info_set(info, "no_locks", "false"); /* the window's own hints stay */
    CHECK(hint_is(win, "no_locks", "true"));
    CHECK(hint_is(win, "accumulate_ordering", "none"));
    CHECK(hint_is(win, "same_size", "false"));
    CHECK(hint_is(win, "of_another_library", NULL));
    MPI_Info_free(&info);
    MPI_Info_create(&info);
    MPI_Info_set(info, "accumulate_ops", "same_op");
    MPI_Info_set(info, "accumulate_ordering", "waw,rar");
    MPI_Info_set(info, "mpi_accumulate_granularity", "64");
    MPI_Info_set(info, "same_disp_unit", "true");
    SAME(MPI_Win_set_info(win, info), MPI_SUCCESS);
    MPI_Info_free(&info);
    CHECK(hint_is(win, "accumulate_ops", "same_op"));
    CHECK(hint_is(win, "accumulate_ordering", "waw,rar"));
    CHECK(hint_is(win, "mpi_accumulate_granularity", "64"));
    CHECK(hint_is(win, "same_disp_unit", "true"));
    CHECK(hint_is(win, "no_locks", "true"));
    SAME(MPI_Win_set_info(win, MPI_INFO_NULL), MPI_SUCCESS);
    for (int i = 0; i < 6; i++) CHECK(hint_is(plain, defaults[i][0], defaults[i][1]));
    MPI_Win_free(&win);
    MPI_Win_free(&plain);
}

static int called, last_code;
static MPI_Win whose;
static void on_win(MPI_Win *win, int *code, ...)
{
    called++;
    last_code = *code;
    whose = *win;
}

static int of_self;
static void on_self(MPI_Comm *comm, int *code, ...)
{
    of_self += *comm == MPI_COMM_SELF && class_of(*code) == MPI_ERR_WIN;
}
static void on_file(MPI_File *file, int *code, ...) { (void)file, (void)code; }

static int failing(MPI_Win win, int key, void *value, void *extra)
{
    (void)win, (void)key, (void)value;
    return *(int *)extra ? MPI_ERR_INTERN : MPI_SUCCESS;
}

static void handlers(void)
{
    MPI_Errhandler handler, found, of_comm, of_file;
    int code, class, key, fails = 1;
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Win win = window_of(comm), other = window_of(comm);
    /* It begins with this one, whatever its communicator has (section 12.6.1). */
    SAME(MPI_Win_get_errhandler(win, &found), MPI_SUCCESS);
    CHECK(found == MPI_ERRORS_ARE_FATAL);
    MPI_Win_create_errhandler(on_win, &handler);
    SAME(MPI_Win_set_errhandler(win, handler), MPI_SUCCESS);
    MPI_Win_get_errhandler(win, &found);
    CHECK(found == handler);
    MPI_Errhandler_free(&found);
    MPI_Win_get_errhandler(other, &found);
    CHECK(found == MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&handler); /* the window keeps it */
    /* Errors of calls on the window go there, and the call returns. */
    SAME(class_of(MPI_Win_detach(win, &code)), MPI_ERR_RMA_ATTACH);
    CHECK(called == 1 && class_of(last_code) == MPI_ERR_RMA_ATTACH && whose == win);
    SAME(class_of(MPI_Win_get_group(win, NULL)), MPI_ERR_ARG);
    SAME(called, 2);
    MPI_Add_error_class(&class);
    MPI_Add_error_code(class, &code);
    SAME(MPI_Win_call_errhandler(win, code), MPI_SUCCESS);
    CHECK(called == 3 && last_code == code);
    MPI_Remove_error_code(code);
    MPI_Remove_error_class(class);
    /* So do those of MPI_Win_free, which is given the window by its address. */
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, failing, &key, &fails);
    MPI_Win_set_attr(win, key, NULL);
    SAME(class_of(MPI_Win_free(&win)), MPI_ERR_INTERN);
    CHECK(called == 4 && whose == win && class_of(last_code) == MPI_ERR_INTERN);
    fails = 0;
    MPI_Win_free_keyval(&key);
    /* Handlers of other objects are refused, and the window's by others. */
    MPI_Comm_create_errhandler(on_self, &of_comm);
    MPI_File_create_errhandler(on_file, &of_file);
    SAME(class_of(MPI_Win_set_errhandler(win, of_comm)), MPI_ERR_ERRHANDLER);
    SAME(class_of(MPI_Win_set_errhandler(win, of_file)), MPI_ERR_ERRHANDLER);
    SAME(class_of(MPI_Win_set_errhandler(win, MPI_ERRHANDLER_NULL)), MPI_ERR_ERRHANDLER);
    SAME(called, 7);
    MPI_Win_get_errhandler(win, &handler);
    SAME(class_of(MPI_Comm_set_errhandler(comm, handler)), MPI_ERR_ERRHANDLER);
    MPI_Errhandler_free(&handler);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_get_errhandler(win, &found);
    CHECK(found == MPI_ERRORS_RETURN);
    SAME(class_of(MPI_Win_detach(win, &code)), MPI_ERR_RMA_ATTACH);
    SAME(called, 7);
    /* Where there is no window, the error is nobody's. */
    MPI_Comm_set_errhandler(MPI_COMM_SELF, of_comm);
    MPI_Win null = MPI_WIN_NULL;
    MPI_Info info;
    MPI_Group group;
    void *value;
    int flag;
    SAME(class_of(MPI_Win_free(&null)), MPI_ERR_WIN);
    SAME(class_of(MPI_Win_attach(null, &value, 1)), MPI_ERR_WIN);
    SAME(class_of(MPI_Win_detach(null, &value)), MPI_ERR_WIN);
    SAME(class_of(MPI_Win_get_group(null, &group)), MPI_ERR_WIN);
    SAME(class_of(MPI_Win_get_info(null, &info)), MPI_ERR_WIN);
    SAME(class_of(MPI_Win_set_info(null, MPI_INFO_NULL)), MPI_ERR_WIN);
    SAME(class_of(MPI_Win_get_attr(null, MPI_WIN_BASE, &value, &flag)), MPI_ERR_WIN);
    SAME(class_of(MPI_Win_set_attr(null, MPI_WIN_BASE, value)), MPI_ERR_WIN);
    SAME(class_of(MPI_Win_delete_attr(null, MPI_WIN_BASE)), MPI_ERR_WIN);
    SAME(class_of(MPI_Win_set_name(null, "name")), MPI_ERR_WIN);
    SAME(class_of(MPI_Win_set_errhandler(null, MPI_ERRORS_RETURN)), MPI_ERR_WIN);
    SAME(class_of(MPI_Win_get_errhandler(null, &found)), MPI_ERR_WIN);
    SAME(class_of(MPI_Win_call_errhandler(null, MPI_ERR_OTHER)), MPI_ERR_WIN);
    SAME(of_self, 13);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&of_comm);
    MPI_Errhandler_free(&of_file);
    MPI_Win_free(&win);
    MPI_Win_free(&other);
    MPI_Comm_free(&comm);
}

static void attached_memory(void)
{
    enum { PIECES = 500 };
    static char memory[64 * PIECES];
    char *at = memory + 1000;
    MPI_Win win = window_of(MPI_COMM_WORLD), other = window_of(MPI_COMM_SELF);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    SAME(MPI_Win_attach(win, at, 100), MPI_SUCCESS);
    SAME(class_of(MPI_Win_attach(win, at, 100)), MPI_ERR_RMA_ATTACH);
    SAME(class_of(MPI_Win_attach(win, at + 99, 1)), MPI_ERR_RMA_ATTACH);
    SAME(class_of(MPI_Win_attach(win, at - 50, 51)), MPI_ERR_RMA_ATTACH);
    SAME(class_of(MPI_Win_attach(win, at - 50, 300)), MPI_ERR_RMA_ATTACH);
    SAME(class_of(MPI_Win_attach(win, at + 10, 10)), MPI_ERR_RMA_ATTACH);
    SAME(MPI_Win_attach(win, at + 100, 20), MPI_SUCCESS);
    SAME(MPI_Win_attach(win, at - 50, 50), MPI_SUCCESS);
    SAME(MPI_Win_attach(other, at + 10, 10), MPI_SUCCESS); /* of another window */
    SAME(class_of(MPI_Win_detach(win, at + 1)), MPI_ERR_RMA_ATTACH);
    SAME(MPI_Win_detach(win, at), MPI_SUCCESS);
    SAME(class_of(MPI_Win_detach(win, at)), MPI_ERR_RMA_ATTACH);
    SAME(MPI_Win_attach(win, at + 20, 80), MPI_SUCCESS);
    /* Nothing is nowhere in the way. */
    SAME(MPI_Win_attach(win, at + 30, 0), MPI_SUCCESS);
    SAME(MPI_Win_attach(win, NULL, 0), MPI_SUCCESS);
    SAME(MPI_Win_detach(win, at + 30), MPI_SUCCESS);
    SAME(class_of(MPI_Win_detach(win, at + 30)), MPI_ERR_RMA_ATTACH);
    SAME(class_of(MPI_Win_attach(win, memory, -1)), MPI_ERR_SIZE);
    SAME(class_of(MPI_Win_attach(win, NULL, 8)), MPI_ERR_RMA_ATTACH);
    SAME(MPI_Win_detach(win, at + 20), MPI_SUCCESS);
    SAME(MPI_Win_detach(win, at + 100), MPI_SUCCESS);
    SAME(MPI_Win_detach(win, at - 50), MPI_SUCCESS);
    /* Many, in an order that is none. */
    for (int i = 0; i < PIECES; i++) SAME(MPI_Win_attach(win, memory + i * 7 % PIECES * 64, 64), MPI_SUCCESS);
    for (int i = 0; i < PIECES; i++) SAME(class_of(MPI_Win_attach(win, memory + i * 64 + 63, 1)), MPI_ERR_RMA_ATTACH);
    for (int i = 0; i < PIECES; i += 2) SAME(MPI_Win_detach(win, memory + i * 11 % PIECES * 64), MPI_SUCCESS);
    /* The rest goes with the window. */
    SAME(MPI_Win_free(&win), MPI_SUCCESS);
    SAME(MPI_Win_free(&other), MPI_SUCCESS);
}

static void integers(void)
{
    MPI_Win wins[2] = {window_of(MPI_COMM_WORLD), window_of(MPI_COMM_WORLD)};
    int numbers[2] = {MPI_Win_toint(wins[0]), MPI_Win_toint(wins[1])};
    CHECK(numbers[0] != numbers[1] && numbers[0] >= 4096 && numbers[1] >= 4096);
    for (int i = 0; i < 2; i++) {
        CHECK(MPI_Win_fromint(numbers[i]) == wins[i]);
        CHECK(MPI_Win_f2c(MPI_Win_c2f(wins[i])) == wins[i]);
        MPI_Win_free(&wins[i]);
        CHECK(MPI_Win_fromint(numbers[i]) == MPI_WIN_NULL);
    }
    CHECK(MPI_Win_fromint(MPI_Win_toint(MPI_WIN_NULL)) == MPI_WIN_NULL);
}

/* The two groups of an intercommunicator have no window in common; the error is the communicator's. */
static void of_intercommunicators(void)
{
    MPI_Comm half, inter;
    MPI_Win win;
    if (size < 2) return;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 9, &inter);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    SAME(class_of(MPI_Win_create_dynamic(MPI_INFO_NULL, inter, &win)), MPI_ERR_COMM);
    CHECK(win == MPI_WIN_NULL);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    members();
    free_waits();
    many();
    attributes();
    predefined_attributes();
    names();
    hints();
    handlers();
    attached_memory();
    integers();
    of_intercommunicators();
    return conclude();
}
