/* What the standard ABI fixes, checked at run time by a program that may have been compiled with another MPI's header:
 * handles and constants as values, the layout of a status, callbacks. CORELACE_EXPECT_LIBRARY names the library to find. */
#include "check.h"

static int deleted;

static int on_delete(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)extra;
    deleted = *(int *)value;
    return MPI_SUCCESS;
}

static void larger(void *in, void *inout, int *length, MPI_Datatype *type)
{
    CHECK(*type == MPI_LONG);
    for (int i = 0; i < *length; i++)
        if (((long *)in)[i] > ((long *)inout)[i]) ((long *)inout)[i] = ((long *)in)[i];
}

int main(int argc, char **argv)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length, major, minor, key, flag, value = 17;

    begin(&argc, &argv);
    MPI_Get_library_version(text, &length);
    const char *expected = getenv("CORELACE_EXPECT_LIBRARY");
    if (!expected || !strstr(text, expected)) {
        fprintf(stderr, "the library is \"%s\", expected %s\n", text, expected ? expected : "its name in CORELACE_EXPECT_LIBRARY");
        failures++;
    }
    MPI_Abi_get_version(&major, &minor);
    SAME(major, 1);

    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    double out[5] = {rank}, in[5];
    MPI_Status status;
    MPI_Sendrecv(out, 5, MPI_DOUBLE, next, 11, in, 5, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    SAME(status.MPI_SOURCE, previous);
    SAME(status.MPI_TAG, 11);
    SAME(in[0], previous);
    MPI_Get_count(&status, MPI_DOUBLE, &length);
    SAME(length, 5);

    MPI_Op op;
    MPI_Op_create(larger, 1, &op);
    long mine = rank, most = -1;
    MPI_Allreduce(&mine, &most, 1, MPI_LONG, op, MPI_COMM_WORLD);
    SAME(most, size - 1);
    MPI_Op_free(&op);
    CHECK(op == MPI_OP_NULL);

    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &key, NULL);
    MPI_Comm_set_attr(copy, key, &value);
    MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
    int code = MPI_Send(NULL, 0, MPI_INT, size, 0, copy), class;
    MPI_Error_class(code, &class);
    SAME(class, MPI_ERR_RANK);
    MPI_Comm_free(&copy);
    SAME(deleted, 17);
    CHECK(copy == MPI_COMM_NULL);
    MPI_Comm_free_keyval(&key);

    int *bound;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &bound, &flag);
    CHECK(flag && *bound >= 32767);
    CHECK(MPI_Comm_fromint(MPI_Comm_toint(MPI_COMM_WORLD)) == MPI_COMM_WORLD);
    MPI_Datatype three;
    MPI_Type_contiguous(3, MPI_INT, &three);
    MPI_Type_commit(&three);
    MPI_Type_size(three, &length);
    SAME(length, 12);
    MPI_Type_free(&three);
    return conclude();
}
