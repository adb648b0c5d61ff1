/* What stands between the library and functions of the program: see callbacks.c. */
#ifndef CORELACE_CALLBACKS_H
#define CORELACE_CALLBACKS_H

#include <mpi.h>

/* A generalized request of the program. */
struct generalized {
    void *query, *free, *cancel;
    MPI_Aint extra_state;
};

/* A data representation of the program. */
struct representation {
    void *read, *write, *extent;
    MPI_Aint extra_state;
};

#define COPIES(prefix, type) \
    void prefix##null_copy_fn_(int *, int *, type *, type *, type *, int *, int *); \
    void prefix##dup_fn_(int *, int *, type *, type *, type *, int *, int *); \
    void prefix##null_delete_fn_(int *, int *, type *, type *, int *);
COPIES(mpi_, int)
COPIES(mpi_comm_, MPI_Aint)
COPIES(mpi_type_, MPI_Aint)
COPIES(mpi_win_, MPI_Aint)
#undef COPIES
void mpi_conversion_fn_null_(void);
void mpi_conversion_fn_null_c_(void);

void corelace_reduce(void *in, void *inout, MPI_Count count, MPI_Datatype datatype, void *function);
void corelace_reduce_c(void *in, void *inout, MPI_Count count, MPI_Datatype datatype, void *function);
void corelace_handle_comm(MPI_Comm object, int code, void *function);
void corelace_handle_file(MPI_File object, int code, void *function);
void corelace_handle_session(MPI_Session object, int code, void *function);
void corelace_handle_win(MPI_Win object, int code, void *function);
int corelace_query(void *extra_state, MPI_Status *status);
int corelace_free(void *extra_state);
int corelace_cancel(void *extra_state, int complete);
int corelace_read(void *userbuf, MPI_Datatype datatype, int count, void *filebuf, MPI_Offset position, void *extra_state);
int corelace_write(void *userbuf, MPI_Datatype datatype, int count, void *filebuf, MPI_Offset position, void *extra_state);
int corelace_read_c(void *userbuf, MPI_Datatype datatype, MPI_Count count, void *filebuf, MPI_Offset position, void *extra_state);
int corelace_write_c(void *userbuf, MPI_Datatype datatype, MPI_Count count, void *filebuf, MPI_Offset position, void *extra_state);
int corelace_extent(MPI_Datatype datatype, MPI_Aint *extent, void *extra_state);

#endif
