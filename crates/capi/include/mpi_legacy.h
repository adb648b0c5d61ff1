/* mpi_legacy.h: what MPI 3.0 removed (section 18.2 of the standard lists it), in terms of what took its place, for programs of that age; and the names
 * that requests of files had before they were like all others, in a library for files that many programs were written for.
 *
 * Nothing of it is part of the standard ABI. mpi.h includes this file if mpicc compiles, unless -mpi-strict is given. */
#ifndef CORELACE_MPI_LEGACY_H
#define CORELACE_MPI_LEGACY_H

#include "mpi.h"

typedef MPI_Comm_errhandler_function MPI_Handler_function;

/* Markers of bounds among the types of a structure. Values that the ABI gives to nobody; this library knows them. */
#define MPI_LB ((MPI_Datatype) 0x000002FE)
#define MPI_UB ((MPI_Datatype) 0x000002FF)

/* Constructors of the Fortran interface of MPI 1. No type has been made by one. */
#define MPI_COMBINER_HVECTOR_INTEGER (-101)
#define MPI_COMBINER_HINDEXED_INTEGER (-102)
#define MPI_COMBINER_STRUCT_INTEGER (-103)

static __inline__ int MPI_Address(void *location, MPI_Aint *address) { return MPI_Get_address(location, address); }

static __inline__ int MPI_Errhandler_create(MPI_Handler_function *function, MPI_Errhandler *errhandler)
{
    return MPI_Comm_create_errhandler(function, errhandler);
}

static __inline__ int MPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler errhandler)
{
    return MPI_Comm_set_errhandler(comm, errhandler);
}

static __inline__ int MPI_Errhandler_get(MPI_Comm comm, MPI_Errhandler *errhandler)
{
    return MPI_Comm_get_errhandler(comm, errhandler);
}

static __inline__ int MPI_Type_extent(MPI_Datatype datatype, MPI_Aint *extent)
{
    MPI_Aint lb;
    return MPI_Type_get_extent(datatype, &lb, extent);
}

static __inline__ int MPI_Type_lb(MPI_Datatype datatype, MPI_Aint *displacement)
{
    MPI_Aint extent;
    return MPI_Type_get_extent(datatype, displacement, &extent);
}

static __inline__ int MPI_Type_ub(MPI_Datatype datatype, MPI_Aint *displacement)
{
    MPI_Aint extent;
    int code = MPI_Type_get_extent(datatype, displacement, &extent);
    if (code == MPI_SUCCESS) *displacement += extent;
    return code;
}

static __inline__ int MPI_Type_hvector(int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    return MPI_Type_create_hvector(count, blocklength, stride, oldtype, newtype);
}

static __inline__ int MPI_Type_hindexed(int count, int *blocklengths, MPI_Aint *displacements, MPI_Datatype oldtype,
                                        MPI_Datatype *newtype)
{
    return MPI_Type_create_hindexed(count, blocklengths, displacements, oldtype, newtype);
}

static __inline__ int MPI_Type_struct(int count, int *blocklengths, MPI_Aint *displacements, MPI_Datatype *types,
                                      MPI_Datatype *newtype)
{
    return MPI_Type_create_struct(count, blocklengths, displacements, types, newtype);
}

/* Programs look for this one before they name a type for requests of files. */
#define MPIO_USES_MPI_REQUEST
#define MPIO_REQUEST_NULL MPI_REQUEST_NULL
typedef MPI_Request MPIO_Request;

static __inline__ int MPIO_Test(MPIO_Request *request, int *flag, MPI_Status *status) { return MPI_Test(request, flag, status); }
static __inline__ int MPIO_Wait(MPIO_Request *request, MPI_Status *status) { return MPI_Wait(request, status); }

#endif /* CORELACE_MPI_LEGACY_H */
