/* What MPI 3.0 removed, in terms of what took its place, for programs of that age: addresses and displacements are INTEGERs. */
#include "corelace_fortran.h"

REPLACEABLE void ENTRY(address)(void *location, int *address, int *ierror)
{
    MPI_Aint found = 0;
    int code = CALL(Get_address)(choice(location), &found);
    *address = (int)found;
    if (code == MPI_SUCCESS && *address != found) {
        /* It does not fit, and the program has no way to tell. */
        code = MPI_ERR_ARG;
        PMPI_Comm_call_errhandler(MPI_COMM_WORLD, code);
    }
    ANSWER(code);
}

/* Of a datatype's bounds, one number. */
#define BOUND(name, expression)                                                     \
    REPLACEABLE void ENTRY(name)(int *datatype, int *result, int *ierror)           \
    {                                                                               \
        MPI_Aint lb = 0, extent = 0;                                                \
        int code = CALL(Type_get_extent)(datatype_in(*datatype), &lb, &extent);     \
        if (code == MPI_SUCCESS) *result = (int)(expression);                       \
        ANSWER(code);                                                               \
    }
BOUND(type_extent, extent)
BOUND(type_lb, lb)
BOUND(type_ub, lb + extent)

static MPI_Aint *widened(const int *displacements, int count)
{
    MPI_Aint *wide = corelace_room(count > 0 ? (size_t)count : 0, sizeof *wide);
    for (int i = 0; i < count; i++) wide[i] = displacements[i];
    return wide;
}

REPLACEABLE void ENTRY(type_hvector)(int *count, int *blocklength, int *stride, int *oldtype, int *newtype, int *ierror)
{
    MPI_Datatype made = MPI_DATATYPE_NULL;
    int code = CALL(Type_create_hvector)(*count, *blocklength, *stride, datatype_in(*oldtype), &made);
    if (code == MPI_SUCCESS) *newtype = datatype_out(made);
    ANSWER(code);
}

REPLACEABLE void ENTRY(type_hindexed)(int *count, int *blocklengths, int *displacements, int *oldtype, int *newtype, int *ierror)
{
    MPI_Datatype made = MPI_DATATYPE_NULL;
    MPI_Aint *wide = widened(displacements, *count);
    int code = CALL(Type_create_hindexed)(*count, blocklengths, wide, datatype_in(*oldtype), &made);
    if (code == MPI_SUCCESS) *newtype = datatype_out(made);
    free(wide);
    ANSWER(code);
}

REPLACEABLE void ENTRY(type_struct)(int *count, int *blocklengths, int *displacements, int *types, int *newtype, int *ierror)
{
    MPI_Datatype made = MPI_DATATYPE_NULL, *c_types = corelace_datatypes(types, *count);
    MPI_Aint *wide = widened(displacements, *count);
    int code = CALL(Type_create_struct)(*count, blocklengths, wide, c_types, &made);
    if (code == MPI_SUCCESS) *newtype = datatype_out(made);
    free(wide);
    free(c_types);
    ANSWER(code);
}

REPLACEABLE void ENTRY(errhandler_set)(int *comm, int *errhandler, int *ierror)
{
    int code = CALL(Comm_set_errhandler)(comm_in(*comm), errhandler_in(*errhandler));
    ANSWER(code);
}

REPLACEABLE void ENTRY(errhandler_get)(int *comm, int *errhandler, int *ierror)
{
    MPI_Errhandler found = MPI_ERRHANDLER_NULL;
    int code = CALL(Comm_get_errhandler)(comm_in(*comm), &found);
    if (code == MPI_SUCCESS) *errhandler = errhandler_out(found);
    ANSWER(code);
}
