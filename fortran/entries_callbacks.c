/* Calls that take functions of the program. */
#include "corelace_fortran.h"
#include "callbacks.h"

#include <corelace.h>

#if defined(PROFILING)
#define CALLX(name) PMPIX_##name
#else
#define CALLX(name) MPIX_##name
#endif

#define CREATES_OP(name, between)                                                                   \
    REPLACEABLE void ENTRY(name)(void *function, int *commute, int *op, int *ierror)                \
    {                                                                                               \
        MPI_Op c_op = MPI_OP_NULL;                                                                  \
        int code = CALLX(Op_create_x)(between, NULL, *commute, function, &c_op);                    \
        if (code == MPI_SUCCESS) *op = op_out(c_op);                                                \
        ANSWER(code);                                                                               \
    }                                                                                               \
    ALSO(ENTRY_F08(name), ENTRY(name));
CREATES_OP(op_create, corelace_reduce)
CREATES_OP(op_create_c, corelace_reduce_c)

#define CREATES_ERRHANDLER(name, bearer, Bearer)                                                    \
    REPLACEABLE void ENTRY(name)(void *function, int *errhandler, int *ierror)                      \
    {                                                                                               \
        MPI_Errhandler c_errhandler = MPI_ERRHANDLER_NULL;                                          \
        int code = CALLX(Bearer##_create_errhandler_x)(corelace_handle_##bearer, NULL, function, &c_errhandler); \
        if (code == MPI_SUCCESS) *errhandler = errhandler_out(c_errhandler);                        \
        ANSWER(code);                                                                               \
    }                                                                                               \
    ALSO(ENTRY_F08(name), ENTRY(name));
CREATES_ERRHANDLER(comm_create_errhandler, comm, Comm)
CREATES_ERRHANDLER(file_create_errhandler, file, File)
CREATES_ERRHANDLER(session_create_errhandler, session, Session)
CREATES_ERRHANDLER(win_create_errhandler, win, Win)
ALSO(ENTRY(errhandler_create), ENTRY(comm_create_errhandler));

#define CREATES_KEYVAL(name, Name, bearer, type)                                                    \
    REPLACEABLE void ENTRY(name)(void *copy, void *delete, int *keyval, type *extra_state, int *ierror) \
    {                                                                                               \
        struct keyval_functions functions = corelace_keyval(bearer, copy, delete, *extra_state);    \
        int code = CALL(Name)(functions.copy, functions.delete, keyval, functions.extra_state);     \
        ANSWER(code);                                                                               \
    }                                                                                               \
    ALSO(ENTRY_F08(name), ENTRY(name));
CREATES_KEYVAL(comm_create_keyval, Comm_create_keyval, OF_COMM, MPI_Aint)
CREATES_KEYVAL(type_create_keyval, Type_create_keyval, OF_TYPE, MPI_Aint)
CREATES_KEYVAL(win_create_keyval, Win_create_keyval, OF_WIN, MPI_Aint)
CREATES_KEYVAL(keyval_create, Comm_create_keyval, OF_MPI_1, int)

REPLACEABLE void ENTRY(grequest_start)(void *query, void *release, void *cancel, MPI_Aint *extra_state, int *request, int *ierror)
{
    struct generalized *known = corelace_room(1, sizeof *known);
    *known = (struct generalized){query, release, cancel, *extra_state};
    MPI_Request c_request = MPI_REQUEST_NULL;
    int code = CALL(Grequest_start)(corelace_query, corelace_free, corelace_cancel, known, &c_request);
    if (code == MPI_SUCCESS) *request = request_out(c_request);
    ANSWER(code);
}
ALSO(ENTRY_F08(grequest_start), ENTRY(grequest_start));

/* What is registered stays for the life of the program. */
#define REGISTERS(name, Name, suffix, none)                                                                                                    \
    REPLACEABLE void ENTRY(name)(char *datarep, void *read, void *write, void *extent, MPI_Aint *extra_state, int *ierror, size_t length)      \
    {                                                                                                                                          \
        struct representation *known = corelace_room(1, sizeof *known);                                                                        \
        *known = (struct representation){read, write, extent, *extra_state};                                                                   \
        char *c_datarep = corelace_string(datarep, length);                                                                                    \
        int code = CALL(Name)(c_datarep, read == (void *)none ? NULL : corelace_read##suffix, write == (void *)none ? NULL : corelace_write##suffix, \
                              corelace_extent, known);                                                                                         \
        free(c_datarep);                                                                                                                       \
        ANSWER(code);                                                                                                                          \
    }                                                                                                                                          \
    ALSO(ENTRY_F08(name), ENTRY(name));
REGISTERS(register_datarep, Register_datarep, , mpi_conversion_fn_null_)
REGISTERS(register_datarep_c, Register_datarep_c, _c, mpi_conversion_fn_null_c_)
