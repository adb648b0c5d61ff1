/* The C half of a program whose other half is languages.f90: what C sees of objects that Fortran has made, and a tool that counts calls. */
#include <mpi.h>

static int barriers;

/* A tool in C sees the calls of Fortran. */
int MPI_Barrier(MPI_Comm comm)
{
    barriers++;
    return PMPI_Barrier(comm);
}

int barriers_(void) { return barriers; }

/* An attribute that Fortran has set is a variable for C (MPI section 19.3.7). */
int value_of_fortran_(MPI_Fint *comm, int *keyval)
{
    MPI_Aint *value = 0;
    int flag = 0;
    MPI_Comm_get_attr(MPI_Comm_f2c(*comm), *keyval, &value, &flag);
    return flag ? (int)*value : -1;
}

/* One that C has set is an address for Fortran. */
void set_in_c_(MPI_Fint *comm, int *keyval, MPI_Aint *address)
{
    static int variable = 31;
    MPI_Comm_set_attr(MPI_Comm_f2c(*comm), *keyval, &variable);
    *address = (MPI_Aint)&variable;
}

/* Handles and statuses go to and fro. */
int source_of_(MPI_Fint *status, MPI_Fint *datatype)
{
    MPI_Status c_status;
    int count = 0;
    MPI_Status_f2c(status, &c_status);
    MPI_Get_count(&c_status, MPI_Type_f2c(*datatype), &count);
    return count == 2 ? c_status.MPI_SOURCE : -1;
}
