/* Attributes with callbacks, and info objects. */
#include "check.h"

static int copies, deletions, refuse;
static int extra_state = 42;

static int copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)key;
    CHECK(extra == &extra_state);
    copies++;
    *(int **)out = (int *)in + 1;
    *flag = !refuse;
    return MPI_SUCCESS;
}

static int delete(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)value;
    CHECK(extra == &extra_state);
    deletions++;
    return MPI_SUCCESS;
}

static void attributes(void)
{
    int key, plain, flag, values[3], *found;
    MPI_Comm first, second, third;
    MPI_Comm_create_keyval(copy, delete, &key, &extra_state);
    MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &plain, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &first);
    MPI_Comm_get_attr(first, key, &found, &flag);
    CHECK(!flag);
    MPI_Comm_set_attr(first, key, values);
    MPI_Comm_set_attr(first, plain, values + 2);
    MPI_Comm_dup(first, &second);
    SAME(copies, 1);
    MPI_Comm_get_attr(second, key, &found, &flag);
    CHECK(flag && found == values + 1); /* what the callback made of it */
    MPI_Comm_get_attr(second, plain, &found, &flag);
    CHECK(flag && found == values + 2);
    refuse = 1;
    MPI_Comm_dup(second, &third);
    SAME(copies, 2);
    MPI_Comm_get_attr(third, key, &found, &flag);
    CHECK(!flag);
    MPI_Comm_set_attr(first, key, values + 2); /* the old value goes */
    SAME(deletions, 1);
    MPI_Comm_delete_attr(first, key);
    SAME(deletions, 2);
    MPI_Comm_free_keyval(&key); /* still in use by the second communicator */
    SAME(key, MPI_KEYVAL_INVALID);
    MPI_Comm_free(&second);
    SAME(deletions, 3);
    MPI_Comm_free(&third);
    MPI_Comm_free(&first);
    SAME(deletions, 3);
    MPI_Comm_free_keyval(&plain);
}

static void predefined(void)
{
    int *value, flag;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag);
    CHECK(flag && *value >= 32767);
    int largest = *value;
    /* The largest tag is a tag. */
    int number = 3, in = 0;
    MPI_Sendrecv(&number, 1, MPI_INT, rank, largest, &in, 1, MPI_INT, rank, largest, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    SAME(in, 3);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &value, &flag);
    CHECK(!flag || *value >= size);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &value, &flag);
    CHECK(flag && (*value == 0 || *value == 1));
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &value, &flag);
    CHECK(!flag || *value == 0);
}

static void infos(void)
{
    MPI_Info info, other;
    char key[MPI_MAX_INFO_KEY], value[MPI_MAX_INFO_VAL];
    int n, flag, length;
    MPI_Info_create(&info);
    MPI_Info_set(info, "colour", "green");
    MPI_Info_set(info, "size", "large");
    MPI_Info_set(info, "colour", "blue"); /* replaces */
    MPI_Info_get_nkeys(info, &n);
    SAME(n, 2);
    MPI_Info_get_nthkey(info, 0, key);
    CHECK(!strcmp(key, "colour"));
    length = sizeof value;
    MPI_Info_get_string(info, "colour", &length, value, &flag);
    CHECK(flag && length == 5 && !strcmp(value, "blue"));
    length = 3; /* cut, with the length that was needed */
    MPI_Info_get_string(info, "size", &length, value, &flag);
    CHECK(flag && length == 6 && !strcmp(value, "la"));
    length = 10;
    MPI_Info_get_string(info, "weight", &length, value, &flag);
    CHECK(!flag);
    MPI_Info_dup(info, &other);
    MPI_Info_delete(info, "size");
    MPI_Info_get_nkeys(info, &n);
    SAME(n, 1);
    MPI_Info_get_nkeys(other, &n);
    SAME(n, 2);
    MPI_Info_free(&info);
    MPI_Info_free(&other);
    CHECK(info == MPI_INFO_NULL);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    attributes();
    predefined();
    infos();
    return conclude();
}
