/* Parts of a communicator by hardware: the library knows one kind of resource, the memory that processes share. */
#include "check.h"

static MPI_Comm part(MPI_Comm comm, int type, const char *key, const char *value)
{
    MPI_Info info;
    MPI_Comm made;
    MPI_Info_create(&info);
    if (key) MPI_Info_set(info, key, value);
    MPI_Comm_split_type(comm, type, 0, info, &made);
    MPI_Info_free(&info);
    return made;
}

static int members(MPI_Comm comm)
{
    int n;
    MPI_Comm_size(comm, &n);
    return n;
}

/* The kind of hardware that a communicator was split by. */
static int is_of(MPI_Comm comm, const char *resource)
{
    MPI_Info info;
    char value[64] = "";
    int length = sizeof value, flag;
    MPI_Comm_get_info(comm, &info);
    MPI_Info_get_string(info, "mpi_hw_resource_type", &length, value, &flag);
    MPI_Info_free(&info);
    return flag && strcmp(value, resource) == 0;
}

int main(int argc, char **argv)
{
    int result, flag, length = 8;
    char value[8];
    MPI_Info info;
    begin(&argc, &argv);
    MPI_Comm shared = part(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, NULL, NULL);
    MPI_Comm guided = part(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, "mpi_hw_resource_type", "mpi_shared_memory");
    MPI_Comm_compare(shared, guided, &result);
    CHECK(result == MPI_CONGRUENT && is_of(guided, "mpi_shared_memory"));

    /* Without guidance the parts must be smaller; what shares memory has none. */
    MPI_Comm smaller = part(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_UNGUIDED, NULL, NULL);
    SAME(smaller != MPI_COMM_NULL, members(shared) < size);
    if (smaller != MPI_COMM_NULL) {
        MPI_Comm_compare(shared, smaller, &result);
        CHECK(result == MPI_CONGRUENT && is_of(smaller, "mpi_shared_memory"));
        CHECK(part(smaller, MPI_COMM_TYPE_HW_UNGUIDED, NULL, NULL) == MPI_COMM_NULL);
        MPI_Comm_free(&smaller);
    }

    /* Process sets are resources, too. */
    MPI_Comm own = part(MPI_COMM_WORLD, MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", "mpi://WORLD");
    SAME(members(own), size);
    CHECK(part(own, MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", "mpi://NOBODY") == MPI_COMM_NULL);

    MPI_Get_hw_resource_info(&info);
    MPI_Info_get_string(info, "mpi_shared_memory", &length, value, &flag);
    CHECK(flag && strcmp(value, "true") == 0);
    MPI_Info_free(&info);
    MPI_Comm_free(&own);
    MPI_Comm_free(&shared);
    MPI_Comm_free(&guided);
    return conclude();
}
