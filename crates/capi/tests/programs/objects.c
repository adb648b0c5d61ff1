/* Info objects, attributes, groups, statuses, error codes, names and integers for handles, in one process. */
#include "expect.h"

static int copies, deletions;

static int copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag) {
    (void) comm, (void) key, (void) extra;
    *(void **) out = (char *) in + 1;
    *flag = 1;
    copies++;
    return MPI_SUCCESS;
}

static int delete(MPI_Comm comm, int key, void *value, void *extra) {
    (void) comm, (void) key, (void) value, (void) extra;
    deletions++;
    return MPI_SUCCESS;
}

static void infos(void) {
    MPI_Info info, other;
    char value[MPI_MAX_INFO_VAL], small[4];
    int number, flag, length = sizeof small;
    MPI_Info_create(&info);
    MPI_Info_set(info, "colour", "green");
    MPI_Info_set(info, "size", "7");
    MPI_Info_dup(info, &other);
    MPI_Info_delete(info, "size");
    MPI_Info_get_nkeys(info, &number);
    EXPECT(number == 1);
    MPI_Info_get_nkeys(other, &number);
    EXPECT(number == 2);
    MPI_Info_get_string(info, "colour", &length, small, &flag);
    EXPECT(flag && length == 6 && strcmp(small, "gre") == 0);
    MPI_Info_get(other, "size", MPI_MAX_INFO_VAL - 1, value, &flag);
    EXPECT(flag && strcmp(value, "7") == 0);
    MPI_Info_get_nthkey(other, 1, value);
    EXPECT(strcmp(value, "size") == 0);
    MPI_Info_free(&info);
    MPI_Info_free(&other);
    EXPECT(info == MPI_INFO_NULL);
}

static void attributes(void) {
    int key, *value, flag;
    char mark[2], *found;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag);
    EXPECT(flag && *value >= 32767);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &value, &flag);
    EXPECT(flag && *value == 1);
    MPI_Comm_create_keyval(copy, delete, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, mark);
    MPI_Comm_get_attr(MPI_COMM_SELF, key, &found, &flag);
    EXPECT(flag && found == mark);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, mark + 1);
    EXPECT(deletions == 1);
    MPI_Comm_free_keyval(&key);
    EXPECT(key == MPI_KEYVAL_INVALID);
}

static void groups(void) {
    MPI_Group world, empty;
    int number, rank = 0, translated, ranges[1][3] = {{0, 0, 1}};
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_excl(world, 1, &rank, &empty);
    EXPECT(empty == MPI_GROUP_EMPTY);
    MPI_Group_translate_ranks(world, 1, &rank, MPI_GROUP_EMPTY, &translated);
    EXPECT(translated == MPI_UNDEFINED);
    MPI_Group_range_excl(world, 1, ranges, &empty);
    EXPECT(empty == MPI_GROUP_EMPTY);
    MPI_Group_compare(world, MPI_GROUP_EMPTY, &number);
    EXPECT(number == MPI_UNEQUAL);
    EXPECT(MPI_Group_fromint(MPI_Group_toint(world)) == world);
    MPI_Group_free(&world);
}

static void statuses(void) {
    MPI_Status status;
    MPI_Count large;
    int number, flag;
    MPI_Status_set_elements_c(&status, MPI_BYTE, (MPI_Count) 5 << 32);
    MPI_Status_set_cancelled(&status, 1);
    MPI_Get_count(&status, MPI_BYTE, &number);
    EXPECT(number == MPI_UNDEFINED);
    MPI_Get_count_c(&status, MPI_INT, &large);
    EXPECT(large == (MPI_Count) 5 << 30);
    MPI_Test_cancelled(&status, &flag);
    EXPECT(flag);
}

static void codes(void) {
    int class, code, found, length, *last, flag;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Add_error_class(&class);
    MPI_Add_error_code(class, &code);
    MPI_Add_error_string(code, "out of paper");
    MPI_Error_class(code, &found);
    MPI_Error_string(code, text, &length);
    EXPECT(class > MPI_ERR_LASTCODE && found == class && strcmp(text, "out of paper") == 0 && length == 12);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag);
    EXPECT(flag && *last == code);
}

static void datatypes(void) {
    MPI_Datatype three, copied;
    MPI_Aint low, extent;
    int size, length, values[3] = {1, 2, 3}, got[3] = {0};
    char name[MPI_MAX_OBJECT_NAME];
    MPI_Request request;
    MPI_Type_get_extent(MPI_DOUBLE_INT, &low, &extent);
    MPI_Type_size(MPI_DOUBLE_INT, &size);
    EXPECT(low == 0 && extent == 16 && size == 12);
    MPI_Type_contiguous(3, MPI_INT, &three);
    EXPECT_ERROR(MPI_Send(values, 1, three, 0, 0, MPI_COMM_SELF), MPI_ERR_TYPE, "not committed");
    MPI_Type_commit(&three);
    MPI_Type_dup(three, &copied);
    MPI_Type_set_name(copied, "three");
    MPI_Type_get_name(copied, name, &length);
    EXPECT(length == 5 && strcmp(name, "three") == 0);
    MPI_Irecv(got, 3, MPI_INT, 0, 0, MPI_COMM_SELF, &request);
    MPI_Send(values, 1, copied, 0, 0, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT(got[2] == 3);
    MPI_Type_free(&three);
    MPI_Type_free(&copied);
    EXPECT(three == MPI_DATATYPE_NULL);
}

int main(int argc, char **argv) {
    int flag, provided, version, subversion;
    MPI_Initialized(&flag);
    EXPECT(!flag);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    EXPECT(provided == MPI_THREAD_MULTIPLE);
    MPI_Query_thread(&provided);
    MPI_Is_thread_main(&flag);
    EXPECT(provided == MPI_THREAD_MULTIPLE && flag);
    MPI_Get_version(&version, &subversion);
    EXPECT(version == 5 && subversion == 0);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    infos();
    attributes();
    groups();
    statuses();
    codes();
    datatypes();
    EXPECT(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS);
    EXPECT(MPI_T_cvar_get_num(&flag) == MPI_SUCCESS && flag > 0);
    EXPECT(MPI_T_finalize() == MPI_SUCCESS);
    MPI_Finalize();
    EXPECT(deletions == 2); /* the attribute of MPI_COMM_SELF goes at the end */
    MPI_Finalized(&flag);
    EXPECT(flag);
    return failures;
}
