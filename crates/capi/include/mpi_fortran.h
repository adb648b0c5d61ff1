/* mpi_fortran.h: handles and statuses as Fortran has them, for C programs that pass them to and fro (MPI 4.1, section 19.3.4).
 *
 * The standard ABI leaves these names out of mpi.h, since they depend on the Fortran compiler: here INTEGER is int, as it is without
 * special options. mpi.h includes this file if mpicc compiles, unless -mpi-strict is given. */
#ifndef CORELACE_MPI_FORTRAN_H
#define CORELACE_MPI_FORTRAN_H

#include "mpi.h"

typedef int MPI_Fint;
typedef MPI_Status MPI_F08_status;

#define MPI_F_STATUS_IGNORE ((MPI_Fint *) 0)
#define MPI_F_STATUSES_IGNORE ((MPI_Fint *) 0)
#define MPI_F08_STATUS_IGNORE ((MPI_F08_status *) 0)
#define MPI_F08_STATUSES_IGNORE ((MPI_F08_status *) 0)

#define CORELACE_CONVERSIONS(type, name)                                                                                \
    static __inline__ type MPI_##name##_f2c(MPI_Fint handle) { return MPI_##name##_fromint(handle); }                   \
    static __inline__ MPI_Fint MPI_##name##_c2f(type handle) { return MPI_##name##_toint(handle); }                     \
    static __inline__ type PMPI_##name##_f2c(MPI_Fint handle) { return PMPI_##name##_fromint(handle); }                 \
    static __inline__ MPI_Fint PMPI_##name##_c2f(type handle) { return PMPI_##name##_toint(handle); }

CORELACE_CONVERSIONS(MPI_Comm, Comm)
CORELACE_CONVERSIONS(MPI_Datatype, Type)
CORELACE_CONVERSIONS(MPI_Errhandler, Errhandler)
CORELACE_CONVERSIONS(MPI_File, File)
CORELACE_CONVERSIONS(MPI_Group, Group)
CORELACE_CONVERSIONS(MPI_Info, Info)
CORELACE_CONVERSIONS(MPI_Message, Message)
CORELACE_CONVERSIONS(MPI_Op, Op)
CORELACE_CONVERSIONS(MPI_Request, Request)
CORELACE_CONVERSIONS(MPI_Session, Session)
CORELACE_CONVERSIONS(MPI_Win, Win)
#undef CORELACE_CONVERSIONS

/* A Fortran status is an array of MPI_F_STATUS_SIZE integers, laid out as the structure is. */
static __inline__ int MPI_Status_c2f(const MPI_Status *c_status, MPI_Fint *f_status)
{
    int i;
    f_status[MPI_F_SOURCE] = c_status->MPI_SOURCE;
    f_status[MPI_F_TAG] = c_status->MPI_TAG;
    f_status[MPI_F_ERROR] = c_status->MPI_ERROR;
    for (i = 0; i < 5; i++) f_status[3 + i] = c_status->MPI_internal[i];
    return MPI_SUCCESS;
}

static __inline__ int MPI_Status_f2c(const MPI_Fint *f_status, MPI_Status *c_status)
{
    int i;
    c_status->MPI_SOURCE = f_status[MPI_F_SOURCE];
    c_status->MPI_TAG = f_status[MPI_F_TAG];
    c_status->MPI_ERROR = f_status[MPI_F_ERROR];
    for (i = 0; i < 5; i++) c_status->MPI_internal[i] = f_status[3 + i];
    return MPI_SUCCESS;
}

static __inline__ int MPI_Status_c2f08(const MPI_Status *c_status, MPI_F08_status *f08_status)
{
    *f08_status = *c_status;
    return MPI_SUCCESS;
}

static __inline__ int MPI_Status_f082c(const MPI_F08_status *f08_status, MPI_Status *c_status)
{
    *c_status = *f08_status;
    return MPI_SUCCESS;
}

static __inline__ int MPI_Status_f2f08(const MPI_Fint *f_status, MPI_F08_status *f08_status)
{
    return MPI_Status_f2c(f_status, f08_status);
}

static __inline__ int MPI_Status_f082f(const MPI_F08_status *f08_status, MPI_Fint *f_status)
{
    return MPI_Status_c2f(f08_status, f_status);
}

/* There is nothing to watch in them, so tools that come between see the same. */
#define PMPI_Status_c2f MPI_Status_c2f
#define PMPI_Status_f2c MPI_Status_f2c
#define PMPI_Status_c2f08 MPI_Status_c2f08
#define PMPI_Status_f082c MPI_Status_f082c
#define PMPI_Status_f2f08 MPI_Status_f2f08
#define PMPI_Status_f082f MPI_Status_f082f

#endif /* CORELACE_MPI_FORTRAN_H */
