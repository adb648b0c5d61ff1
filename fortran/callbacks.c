/*
 * Functions of the program that the library calls: in between stands one that speaks C to the library and Fortran to the program. What it needs to know comes as the extra
 * state, which keyvals, generalized requests and data representations have; operations and error handlers have it in functions besides the standard (corelace.h).
 */
#include "corelace_fortran.h"
#include "callbacks.h"

/* What the program has given for a keyval. It lives as long as the program: objects may keep attributes after the keyval was freed. */
struct keyval {
    void *copy, *delete;
    MPI_Aint extra_state;
};

typedef void copy_function(int *handle, int *keyval, MPI_Aint *extra_state, MPI_Aint *in, MPI_Aint *out, int *flag, int *ierror);
typedef void delete_function(int *handle, int *keyval, MPI_Aint *value, MPI_Aint *extra_state, int *ierror);
typedef void copy_function_1(int *handle, int *keyval, int *extra_state, int *in, int *out, int *flag, int *ierror);
typedef void delete_function_1(int *handle, int *keyval, int *value, int *extra_state, int *ierror);

static int copy_attribute(int handle, int keyval, struct keyval *known, void *in, void *out, int *flag)
{
    MPI_Aint value = corelace_attribute_out(in), copied = 0;
    int ierror = MPI_SUCCESS;
    ((copy_function *)known->copy)(&handle, &keyval, &known->extra_state, &value, &copied, flag, &ierror);
    if (ierror == MPI_SUCCESS && *flag) *(void **)out = corelace_attribute_in(copied);
    return ierror;
}

static int delete_attribute(int handle, int keyval, struct keyval *known, void *given)
{
    MPI_Aint value = corelace_attribute_out(given);
    int ierror = MPI_SUCCESS;
    ((delete_function *)known->delete)(&handle, &keyval, &value, &known->extra_state, &ierror);
    return ierror;
}

#define OF(name, type)                                                                                                      \
    static int copy_of_##name(type object, int keyval, void *extra_state, void *in, void *out, int *flag)                   \
    {                                                                                                                       \
        return copy_attribute(name##_out(object), keyval, extra_state, in, out, flag);                                      \
    }                                                                                                                       \
    static int delete_of_##name(type object, int keyval, void *value, void *extra_state)                                    \
    {                                                                                                                       \
        return delete_attribute(name##_out(object), keyval, extra_state, value);                                            \
    }
OF(comm, MPI_Comm)
OF(datatype, MPI_Datatype)
OF(win, MPI_Win)

/* Attributes of MPI-1 are INTEGERs. */
static int copy_of_mpi_1(MPI_Comm comm, int keyval, void *extra_state, void *in, void *out, int *flag)
{
    struct keyval *known = extra_state;
    int handle = comm_out(comm), state = (int)known->extra_state, value = (int)corelace_attribute_out(in), copied = 0, ierror = MPI_SUCCESS;
    ((copy_function_1 *)known->copy)(&handle, &keyval, &state, &value, &copied, flag, &ierror);
    if (ierror == MPI_SUCCESS && *flag) *(void **)out = corelace_attribute_in(copied);
    return ierror;
}

static int delete_of_mpi_1(MPI_Comm comm, int keyval, void *given, void *extra_state)
{
    struct keyval *known = extra_state;
    int handle = comm_out(comm), state = (int)known->extra_state, value = (int)corelace_attribute_out(given), ierror = MPI_SUCCESS;
    ((delete_function_1 *)known->delete)(&handle, &keyval, &value, &state, &ierror);
    return ierror;
}

/* The predefined functions, which a program may also call. */
#define PREDEFINED(prefix, type)                                                                                                                            \
    void prefix##null_copy_fn_(int *handle, int *keyval, type *extra_state, type *in, type *out, int *flag, int *ierror)                                    \
    {                                                                                                                                                       \
        (void)handle, (void)keyval, (void)extra_state, (void)in, (void)out;                                                                                 \
        *flag = 0;                                                                                                                                          \
        *ierror = MPI_SUCCESS;                                                                                                                              \
    }                                                                                                                                                       \
    void prefix##dup_fn_(int *handle, int *keyval, type *extra_state, type *in, type *out, int *flag, int *ierror)                                          \
    {                                                                                                                                                       \
        (void)handle, (void)keyval, (void)extra_state;                                                                                                      \
        *out = *in;                                                                                                                                         \
        *flag = 1;                                                                                                                                          \
        *ierror = MPI_SUCCESS;                                                                                                                              \
    }                                                                                                                                                       \
    void prefix##null_delete_fn_(int *handle, int *keyval, type *value, type *extra_state, int *ierror)                                                     \
    {                                                                                                                                                       \
        (void)handle, (void)keyval, (void)extra_state, (void)value;                                                                                         \
        *ierror = MPI_SUCCESS;                                                                                                                              \
    }
PREDEFINED(mpi_, int)
PREDEFINED(mpi_comm_, MPI_Aint)
PREDEFINED(mpi_type_, MPI_Aint)
PREDEFINED(mpi_win_, MPI_Aint)

void mpi_conversion_fn_null_(void) {}
void mpi_conversion_fn_null_c_(void) {}

struct keyval_functions corelace_keyval(enum bearer bearer, void *copy, void *delete, MPI_Aint extra_state)
{
    static const struct {
        void *null_copy, *dup, *null_delete, *copy, *delete;
    } kinds[] = {
        [OF_COMM] = {mpi_comm_null_copy_fn_, mpi_comm_dup_fn_, mpi_comm_null_delete_fn_, copy_of_comm, delete_of_comm},
        [OF_TYPE] = {mpi_type_null_copy_fn_, mpi_type_dup_fn_, mpi_type_null_delete_fn_, copy_of_datatype, delete_of_datatype},
        [OF_WIN] = {mpi_win_null_copy_fn_, mpi_win_dup_fn_, mpi_win_null_delete_fn_, copy_of_win, delete_of_win},
        [OF_MPI_1] = {mpi_null_copy_fn_, mpi_dup_fn_, mpi_null_delete_fn_, copy_of_mpi_1, delete_of_mpi_1},
    };
    struct keyval *known = corelace_room(1, sizeof *known);
    *known = (struct keyval){copy, delete, extra_state};
    struct keyval_functions functions = {kinds[bearer].copy, kinds[bearer].delete, known};
    /* Programs of MPI-1 and MPI-2 mix the names of the predefined ones, which do the same. */
    for (int i = 0; i < 4; i++) {
        if (copy == kinds[i].null_copy) functions.copy = (void *)MPI_COMM_NULL_COPY_FN;
        if (copy == kinds[i].dup) functions.copy = (void *)MPI_COMM_DUP_FN;
        if (delete == kinds[i].null_delete) functions.delete = (void *)MPI_COMM_NULL_DELETE_FN;
    }
    return functions;
}

typedef void reduction(void *in, void *inout, int *count, int *datatype);
typedef void reduction_c(void *in, void *inout, MPI_Count *count, int *datatype);

void corelace_reduce(void *in, void *inout, MPI_Count count, MPI_Datatype datatype, void *function)
{
    /* A function with small counts gets no more elements at once than it can be told of. */
    int handle = datatype_out(datatype);
    MPI_Aint lb = 0, extent = 0;
    if (count > INT32_MAX) PMPI_Type_get_extent(datatype, &lb, &extent);
    while (count > 0) {
        int piece = count > INT32_MAX ? INT32_MAX : (int)count;
        ((reduction *)function)(in, inout, &piece, &handle);
        in = (char *)in + piece * extent;
        inout = (char *)inout + piece * extent;
        count -= piece;
    }
}

void corelace_reduce_c(void *in, void *inout, MPI_Count count, MPI_Datatype datatype, void *function)
{
    int handle = datatype_out(datatype);
    ((reduction_c *)function)(in, inout, &count, &handle);
}

typedef void handler(int *object, int *code);
#define HANDLES(name, type) \
    void corelace_handle_##name(type object, int code, void *function) { int handle = name##_out(object); ((handler *)function)(&handle, &code); }
HANDLES(comm, MPI_Comm)
HANDLES(file, MPI_File)
HANDLES(session, MPI_Session)
HANDLES(win, MPI_Win)

typedef void query_function(MPI_Aint *extra_state, int *status, int *ierror);
typedef void free_function(MPI_Aint *extra_state, int *ierror);
typedef void cancel_function(MPI_Aint *extra_state, int *complete, int *ierror);

int corelace_query(void *extra_state, MPI_Status *status)
{
    struct generalized *request = extra_state;
    int ierror = MPI_SUCCESS;
    ((query_function *)request->query)(&request->extra_state, (int *)status, &ierror);
    return ierror;
}

int corelace_free(void *extra_state)
{
    struct generalized *request = extra_state;
    int ierror = MPI_SUCCESS;
    ((free_function *)request->free)(&request->extra_state, &ierror);
    free(request);
    return ierror;
}

int corelace_cancel(void *extra_state, int complete)
{
    struct generalized *request = extra_state;
    int ierror = MPI_SUCCESS;
    complete = !!complete;
    ((cancel_function *)request->cancel)(&request->extra_state, &complete, &ierror);
    return ierror;
}

typedef void conversion(void *userbuf, int *datatype, int *count, void *filebuf, MPI_Offset *position, MPI_Aint *extra_state, int *ierror);
typedef void conversion_c(void *userbuf, int *datatype, MPI_Count *count, void *filebuf, MPI_Offset *position, MPI_Aint *extra_state, int *ierror);
typedef void extent_function(int *datatype, MPI_Aint *extent, MPI_Aint *extra_state, int *ierror);

#define CONVERTS(name, field, type, function)                                                                                                       \
    int corelace_##name(void *userbuf, MPI_Datatype datatype, type count, void *filebuf, MPI_Offset position, void *extra_state)                    \
    {                                                                                                                                               \
        struct representation *known = extra_state;                                                                                                 \
        int handle = datatype_out(datatype), ierror = MPI_SUCCESS;                                                                                  \
        ((function *)known->field)(userbuf, &handle, &count, filebuf, &position, &known->extra_state, &ierror);                                     \
        return ierror;                                                                                                                              \
    }
CONVERTS(read, read, int, conversion)
CONVERTS(write, write, int, conversion)
CONVERTS(read_c, read, MPI_Count, conversion_c)
CONVERTS(write_c, write, MPI_Count, conversion_c)

int corelace_extent(MPI_Datatype datatype, MPI_Aint *extent, void *extra_state)
{
    struct representation *known = extra_state;
    int handle = datatype_out(datatype), ierror = MPI_SUCCESS;
    ((extent_function *)known->extent)(&handle, extent, &known->extra_state, &ierror);
    return ierror;
}
