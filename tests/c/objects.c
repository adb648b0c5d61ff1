/* Communicators and what hangs on them: names, hints, attributes under both generations of names, duplicates that fail, types of
 * splits, error handlers of other objects, error codes of the program, disconnecting. */
#include "check.h"

static void names(void)
{
    char name[MPI_MAX_OBJECT_NAME] = "?";
    int length = -1;
    MPI_Comm_get_name(MPI_COMM_NULL, name, &length);
    CHECK(strcmp(name, "MPI_COMM_NULL") == 0 && length == 13);
    MPI_Type_get_name(MPI_DATATYPE_NULL, name, &length);
    CHECK(strcmp(name, "MPI_DATATYPE_NULL") == 0 && length == 17);
    MPI_Type_get_name(MPI_INT, name, &length);
    CHECK(strcmp(name, "MPI_INT") == 0);
    MPI_Comm_get_name(MPI_COMM_SELF, name, &length);
    CHECK(strcmp(name, "MPI_COMM_SELF") == 0);
}

static int hint(MPI_Comm comm, const char *key, char value[32])
{
    MPI_Info info;
    int length = 32, flag;
    MPI_Comm_get_info(comm, &info);
    value[0] = 0;
    MPI_Info_get_string(info, key, &length, value, &flag);
    MPI_Info_free(&info);
    return flag;
}

/* Section 7.4.4: hints that the library knows come back, with defaults; others do not. A duplicate starts anew. */
static void hints(void)
{
    MPI_Comm comm, copies[4];
    MPI_Info info, other;
    MPI_Request requests[2];
    char value[32];
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    CHECK(hint(comm, "mpi_assert_no_any_tag", value) && strcmp(value, "false") == 0);
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
    MPI_Info_set(info, "favourite_colour", "blue");
    MPI_Comm_set_info(comm, info);
    CHECK(hint(comm, "mpi_assert_no_any_tag", value) && strcmp(value, "true") == 0);
    CHECK(!hint(comm, "favourite_colour", value));
    MPI_Info_create(&other);
    MPI_Info_set(other, "mpi_assert_exact_length", "true");
    MPI_Comm_set_info(comm, other); /* what it does not name stays */
    CHECK(hint(comm, "mpi_assert_no_any_tag", value) && strcmp(value, "true") == 0);
    CHECK(hint(comm, "mpi_assert_exact_length", value) && strcmp(value, "true") == 0);
    MPI_Comm_dup(comm, &copies[0]);
    MPI_Comm_idup(comm, &copies[1], &requests[0]);
    MPI_Comm_dup_with_info(comm, info, &copies[2]);
    MPI_Comm_idup_with_info(comm, other, &copies[3], &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 4; i++) {
        CHECK(hint(copies[i], "mpi_assert_no_any_tag", value) && strcmp(value, i == 2 ? "true" : "false") == 0);
        CHECK(hint(copies[i], "mpi_assert_exact_length", value) && strcmp(value, i == 3 ? "true" : "false") == 0);
        CHECK(!hint(copies[i], "favourite_colour", value));
        int sum = 0;
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, copies[i]);
        SAME(sum, size * (size - 1) / 2);
        MPI_Comm_free(&copies[i]);
    }
    MPI_Info_free(&info);
    MPI_Info_free(&other);
    MPI_Comm_free(&comm);
}

static int deleted, refuse_copy;
static int copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)comm;
    (void)key;
    *(void **)out = (char *)in + *(int *)extra;
    *flag = 1;
    return refuse_copy ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static int drop(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm;
    (void)key;
    (void)value;
    deleted += *(int *)extra;
    return MPI_SUCCESS;
}

/* Section 7.7.2: a key that was freed serves the attributes that have it. */
static void freed_keys(void)
{
    static char base[8];
    int key, saved, flag = 0, one = 1;
    void *value;
    MPI_Comm comm, next;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_create_keyval(copy, drop, &key, &one);
    MPI_Comm_set_attr(comm, key, base);
    saved = key;
    MPI_Comm_free_keyval(&key);
    SAME(key, MPI_KEYVAL_INVALID);
    MPI_Comm_get_attr(comm, saved, &value, &flag);
    CHECK(flag && value == base);
    MPI_Comm_dup(comm, &next);
    MPI_Comm_get_attr(next, saved, &value, &flag);
    CHECK(flag && value == base + 1);
    MPI_Comm_set_attr(next, saved, base + 5);
    SAME(deleted, 1);
    SAME(MPI_Comm_delete_attr(comm, saved), MPI_SUCCESS);
    SAME(deleted, 2);
    CHECK(MPI_Comm_delete_attr(comm, saved) != MPI_SUCCESS); /* the last reference here is gone */
    key = saved;
    SAME(MPI_Comm_free_keyval(&key), MPI_SUCCESS); /* again, but the other communicator uses it */
    MPI_Comm_free(&next);
    SAME(deleted, 3);
    CHECK(MPI_Comm_free_keyval(&saved) != MPI_SUCCESS);
    MPI_Comm_free(&comm);
}

static void a_failing_copy(void)
{
    int key, one = 1, before = deleted;
    MPI_Comm comm, next = MPI_COMM_WORLD;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_create_keyval(copy, drop, &key, &one);
    MPI_Comm_set_attr(comm, key, NULL);
    refuse_copy = 1;
    CHECK(MPI_Comm_dup(comm, &next) != MPI_SUCCESS);
    CHECK(next == MPI_COMM_NULL);
    refuse_copy = 0;
    MPI_Comm_dup(comm, &next);
    MPI_Barrier(next);
    MPI_Comm_free(&next);
    MPI_Comm_free(&comm);
    SAME(deleted, before + 2);
    MPI_Comm_free_keyval(&key);
}

/* The names of MPI-1 do what those of MPI-2 do. */
static void old_attributes(void)
{
    static char base[8];
    int key, flag = 0, two = 2, before = deleted;
    void *value;
    MPI_Comm comm, next;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Keyval_create(copy, drop, &key, &two);
    MPI_Attr_put(comm, key, base);
    MPI_Attr_get(comm, key, &value, &flag);
    CHECK(flag && value == base);
    MPI_Comm_dup(comm, &next);
    MPI_Comm_get_attr(next, key, &value, &flag);
    CHECK(flag && value == base + 2);
    MPI_Attr_delete(comm, key);
    SAME(deleted, before + 2);
    MPI_Attr_get(comm, key, &value, &flag);
    CHECK(!flag);
    MPI_Comm_free(&next);
    SAME(deleted, before + 4);
    MPI_Keyval_free(&key);
    SAME(key, MPI_KEYVAL_INVALID);
    MPI_Comm_free(&comm);
}

static int copy_type(MPI_Datatype type, int key, void *extra, void *in, void *out, int *flag)
{
    (void)type;
    return copy(MPI_COMM_NULL, key, extra, in, out, flag);
}

static int drop_type(MPI_Datatype type, int key, void *value, void *extra)
{
    (void)type;
    return drop(MPI_COMM_NULL, key, value, extra);
}

static void attributes_of_types(void)
{
    static char base[8];
    int key, saved, flag = 0, three = 3, before = deleted;
    void *value;
    MPI_Datatype type, next;
    MPI_Type_contiguous(2, MPI_INT, &type);
    MPI_Type_create_keyval(copy_type, drop_type, &key, &three);
    MPI_Type_get_attr(type, key, &value, &flag);
    CHECK(!flag);
    MPI_Type_set_attr(type, key, base);
    MPI_Type_get_attr(type, key, &value, &flag);
    CHECK(flag && value == base);
    MPI_Type_dup(type, &next);
    saved = key;
    MPI_Type_free_keyval(&key);
    SAME(key, MPI_KEYVAL_INVALID);
    MPI_Type_get_attr(next, saved, &value, &flag);
    CHECK(flag && value == base + 3);
    SAME(MPI_Type_delete_attr(next, saved), MPI_SUCCESS);
    SAME(deleted, before + 3);
    MPI_Type_free(&next);
    MPI_Type_free(&type);
    SAME(deleted, before + 6);
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &key, NULL);
    CHECK(key != MPI_KEYVAL_INVALID);
    CHECK(MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL) != MPI_SUCCESS); /* a key for another kind of object */
    MPI_Win_free_keyval(&key);
    SAME(key, MPI_KEYVAL_INVALID);
}

/* Section 9.5: what has codes or a string cannot be removed. */
static void error_codes(void)
{
    int class, code, found, *last, flag, length;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Add_error_class(&class);
    MPI_Add_error_string(class, "a class");
    MPI_Add_error_code(class, &code);
    MPI_Add_error_string(code, "a code");
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag);
    CHECK(flag && *last == code && code > class);
    CHECK(MPI_Remove_error_class(class) != MPI_SUCCESS);
    CHECK(MPI_Remove_error_code(code) != MPI_SUCCESS);
    CHECK(MPI_Remove_error_code(class) != MPI_SUCCESS);
    SAME(MPI_Remove_error_string(code), MPI_SUCCESS);
    CHECK(MPI_Remove_error_string(code) != MPI_SUCCESS);
    MPI_Error_string(code, text, &length);
    SAME(length, 0);
    SAME(MPI_Remove_error_code(code), MPI_SUCCESS);
    SAME(*last, class);
    CHECK(MPI_Error_class(code, &found) != MPI_SUCCESS);
    CHECK(MPI_Remove_error_class(class) != MPI_SUCCESS);
    SAME(MPI_Remove_error_string(class), MPI_SUCCESS);
    SAME(MPI_Remove_error_class(class), MPI_SUCCESS);
    SAME(*last, MPI_ERR_LASTCODE);
    CHECK(MPI_Remove_error_class(MPI_ERR_RANK) != MPI_SUCCESS);
}

static void split(int type, const char *resource, int expected)
{
    MPI_Info info;
    MPI_Comm part;
    MPI_Info_create(&info);
    if (resource) MPI_Info_set(info, "mpi_hw_resource_type", resource);
    MPI_Comm_split_type(MPI_COMM_WORLD, type, rank, info, &part);
    SAME(part != MPI_COMM_NULL, expected);
    if (part != MPI_COMM_NULL) {
        int members = 0;
        MPI_Comm_size(part, &members);
        SAME(members, size); /* one machine */
        MPI_Comm_free(&part);
    }
    MPI_Info_free(&info);
}

static void guided_splits(void)
{
    split(MPI_COMM_TYPE_SHARED, NULL, 1);
    split(MPI_COMM_TYPE_HW_GUIDED, "mpi_shared_memory", 1);
    split(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_shared_memory", 1);
    split(MPI_COMM_TYPE_HW_GUIDED, "a_resource_that_nobody_has", 0);
    split(MPI_COMM_TYPE_HW_GUIDED, NULL, 0);
    split(MPI_COMM_TYPE_HW_UNGUIDED, NULL, 0);
    split(MPI_UNDEFINED, NULL, 0);
}

static int file_calls;
static void on_file(MPI_File *file, int *code, ...) { file_calls += *file == MPI_FILE_NULL && *code == MPI_ERR_OTHER; }
static void on_win(MPI_Win *win, int *code, ...) { (void)win, (void)code; }
static void on_session(MPI_Session *session, int *code, ...) { (void)session, (void)code; }

static void handlers_of_other_objects(void)
{
    MPI_Errhandler handlers[3], found;
    MPI_File_get_errhandler(MPI_FILE_NULL, &found);
    CHECK(found == MPI_ERRORS_RETURN); /* section 14.7 */
    MPI_File_create_errhandler(on_file, &handlers[0]);
    MPI_File_set_errhandler(MPI_FILE_NULL, handlers[0]);
    MPI_File_get_errhandler(MPI_FILE_NULL, &found);
    CHECK(found == handlers[0]);
    MPI_Errhandler_free(&found);
    MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_OTHER);
    SAME(file_calls, 1);
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
    MPI_Win_create_errhandler(on_win, &handlers[1]);
    MPI_Session_create_errhandler(on_session, &handlers[2]);
    for (int i = 0; i < 3; i++) {
        CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, handlers[i]) != MPI_SUCCESS); /* for another kind of object */
        MPI_Errhandler_free(&handlers[i]);
        CHECK(handlers[i] == MPI_ERRHANDLER_NULL);
    }
}

static void what_there_is_none_of(void)
{
    int flag = -1, number;
    MPI_Comm parent = MPI_COMM_WORLD;
    MPI_Group group;
    MPI_Info info;
    MPI_Comm_test_inter(MPI_COMM_WORLD, &flag);
    SAME(flag, 0);
    CHECK(MPI_Comm_remote_size(MPI_COMM_SELF, &number) != MPI_SUCCESS);
    CHECK(MPI_Comm_remote_group(MPI_COMM_SELF, &group) != MPI_SUCCESS);
    MPI_Comm_get_parent(&parent);
    CHECK(parent == MPI_COMM_NULL);
    MPI_Get_hw_resource_info(&info);
    CHECK(info != MPI_INFO_NULL);
    MPI_Info_get_nkeys(info, &number);
    CHECK(number >= 0);
    MPI_Info_free(&info);
}

static void infos(int argc, char **argv)
{
    MPI_Info info;
    int length = -1, flag = 0;
    char value[64];
    MPI_Info_create(&info);
    MPI_Info_set(info, "key", "four");
    MPI_Info_get_valuelen(info, "key", &length, &flag);
    CHECK(flag && length == 4);
    MPI_Info_get_valuelen(info, "no such key", &length, &flag);
    CHECK(!flag);
    MPI_Info_get(info, "key", 63, value, &flag);
    CHECK(flag && strcmp(value, "four") == 0);
    MPI_Info_free(&info);
    MPI_Info_create_env(argc, argv, &info);
    MPI_Info_get(info, "command", 63, value, &flag);
    CHECK(flag);
    MPI_Info_free(&info);
}

/* A send that was given up is under way until the receiver takes it: the sender's memory is its own again only after that. */
static void disconnecting(void)
{
    enum { BYTES = 4 << 20 };
    static unsigned char out[BYTES], in[BYTES];
    MPI_Comm comm;
    MPI_Request request;
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    if (size % 2) return;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (rank % 2 == 0) {
        fill(out, BYTES, rank, 1);
        MPI_Isend(out, BYTES, MPI_BYTE, next, 1, comm, &request);
        MPI_Request_free(&request);
        MPI_Send(NULL, 0, MPI_INT, next, 2, MPI_COMM_WORLD);
        MPI_Comm_disconnect(&comm);
        memset(out, 0, BYTES);
    } else {
        MPI_Recv(NULL, 0, MPI_INT, previous, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(in, BYTES, MPI_BYTE, previous, 1, comm, MPI_STATUS_IGNORE);
        SAME(differs(in, BYTES, previous, 1), -1);
        MPI_Comm_disconnect(&comm);
    }
    CHECK(comm == MPI_COMM_NULL);
    comm = MPI_COMM_SELF;
    CHECK(MPI_Comm_disconnect(&comm) != MPI_SUCCESS);
}

/* Other libraries reduce characters, and programs count on it. */
static void reductions_of_characters(void)
{
    char one = (char)(rank + 1), sum = 0, least = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_CHAR, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(&one, &least, 1, MPI_CHAR, MPI_MIN, MPI_COMM_WORLD);
    SAME(sum, size * (size + 1) / 2);
    SAME(least, 1);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    names();
    hints();
    freed_keys();
    a_failing_copy();
    old_attributes();
    attributes_of_types();
    error_codes();
    guided_splits();
    handlers_of_other_objects();
    what_there_is_none_of();
    infos(argc, argv);
    disconnecting();
    reductions_of_characters();
    return conclude();
}
