/* Handles as integers and back (section 20.3), and what the library tells of its ABI and of Fortran. */
#include "check.h"

#include <stdint.h>

#define THERE_AND_BACK(toint, fromint, handle, null)                                                                    \
    do {                                                                                                                \
        int number_ = toint(handle);                                                                                    \
        CHECK(fromint(number_) == (handle));                                                                            \
        CHECK(number_ >= 0);                                                                                            \
        CHECK(fromint(toint(null)) == (null));                                                                          \
        if ((handle) != (null)) CHECK(number_ != toint(null));                                                          \
    } while (0)

static void returns(MPI_Comm *comm, int *code, ...) { (void)comm, (void)code; }
static void add(void *in, void *inout, int *n, MPI_Datatype *type) { (void)in, (void)inout, (void)n, (void)type; }

static void handles(void)
{
    MPI_Comm comms[3];
    MPI_Group group;
    MPI_Datatype type;
    MPI_Op op;
    MPI_Info info;
    MPI_Errhandler handler;
    MPI_Request request;
    MPI_Message message;
    int data = 5, in = 0;
    for (int i = 0; i < 3; i++) MPI_Comm_dup(MPI_COMM_SELF, &comms[i]);
    for (int i = 0; i < 3; i++) THERE_AND_BACK(MPI_Comm_toint, MPI_Comm_fromint, comms[i], MPI_COMM_NULL);
    CHECK(MPI_Comm_toint(comms[0]) != MPI_Comm_toint(comms[1]));
    THERE_AND_BACK(MPI_Comm_toint, MPI_Comm_fromint, MPI_COMM_WORLD, MPI_COMM_NULL);
    /* Predefined handles are their own integers. */
    SAME(MPI_Comm_toint(MPI_COMM_WORLD), (intptr_t)MPI_COMM_WORLD);
    SAME(MPI_Type_toint(MPI_DOUBLE), (intptr_t)MPI_DOUBLE);
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    THERE_AND_BACK(MPI_Group_toint, MPI_Group_fromint, group, MPI_GROUP_NULL);
    THERE_AND_BACK(MPI_Group_toint, MPI_Group_fromint, MPI_GROUP_EMPTY, MPI_GROUP_NULL);
    MPI_Type_contiguous(2, MPI_INT, &type);
    THERE_AND_BACK(MPI_Type_toint, MPI_Type_fromint, type, MPI_DATATYPE_NULL);
    THERE_AND_BACK(MPI_Type_toint, MPI_Type_fromint, MPI_INT, MPI_DATATYPE_NULL);
    MPI_Op_create(add, 1, &op);
    THERE_AND_BACK(MPI_Op_toint, MPI_Op_fromint, op, MPI_OP_NULL);
    THERE_AND_BACK(MPI_Op_toint, MPI_Op_fromint, MPI_SUM, MPI_OP_NULL);
    MPI_Info_create(&info);
    THERE_AND_BACK(MPI_Info_toint, MPI_Info_fromint, info, MPI_INFO_NULL);
    MPI_Comm_create_errhandler(returns, &handler);
    THERE_AND_BACK(MPI_Errhandler_toint, MPI_Errhandler_fromint, handler, MPI_ERRHANDLER_NULL);
    THERE_AND_BACK(MPI_Errhandler_toint, MPI_Errhandler_fromint, MPI_ERRORS_RETURN, MPI_ERRHANDLER_NULL);
    MPI_Irecv(&in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request);
    THERE_AND_BACK(MPI_Request_toint, MPI_Request_fromint, request, MPI_REQUEST_NULL);
    MPI_Request again = MPI_Request_fromint(MPI_Request_toint(request));
    MPI_Send(&data, 1, MPI_INT, 0, 1, MPI_COMM_SELF);
    MPI_Wait(&again, MPI_STATUS_IGNORE);
    SAME(in, 5);
    MPI_Send(&data, 1, MPI_INT, 0, 2, MPI_COMM_SELF);
    MPI_Mprobe(0, 2, MPI_COMM_SELF, &message, MPI_STATUS_IGNORE);
    THERE_AND_BACK(MPI_Message_toint, MPI_Message_fromint, message, MPI_MESSAGE_NULL);
    THERE_AND_BACK(MPI_Message_toint, MPI_Message_fromint, MPI_MESSAGE_NO_PROC, MPI_MESSAGE_NULL);
    MPI_Mrecv(&in, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    THERE_AND_BACK(MPI_Win_toint, MPI_Win_fromint, MPI_WIN_NULL, MPI_WIN_NULL);
    THERE_AND_BACK(MPI_File_toint, MPI_File_fromint, MPI_FILE_NULL, MPI_FILE_NULL);
    THERE_AND_BACK(MPI_Session_toint, MPI_Session_fromint, MPI_SESSION_NULL, MPI_SESSION_NULL);
    /* A freed handle's integer names nothing. */
    int number = MPI_Info_toint(info);
    MPI_Info_free(&info);
    CHECK(MPI_Info_fromint(number) == MPI_INFO_NULL);
    MPI_Errhandler_free(&handler);
    MPI_Op_free(&op);
    MPI_Type_free(&type);
    MPI_Group_free(&group);
    for (int i = 0; i < 3; i++) MPI_Comm_free(&comms[i]);
}

/* Many requests that are made, turned into integers and ended do not fill memory. */
static void many_requests(void)
{
    int in, largest = 0;
    for (int i = 0; i < 5000; i++) {
        MPI_Request request;
        MPI_Irecv(&in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request);
        int number = MPI_Request_toint(request);
        if (number > largest) largest = number;
        MPI_Send(&i, 1, MPI_INT, 0, 1, MPI_COMM_SELF);
        request = MPI_Request_fromint(number);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        SAME(in, i);
    }
    CHECK(largest < 0x1000 + 100);
}

static int size_of(MPI_Info info, const char *key)
{
    char value[16];
    int length = sizeof value, flag = 0;
    MPI_Info_get_string(info, key, &length, value, &flag);
    return flag ? atoi(value) : -1;
}

static void abi(void)
{
    int major = 0, minor = -1, is_set = -1, yes = 1, no = 0, found_yes = 7, found_no = 7;
    MPI_Info info;
    MPI_Abi_get_version(&major, &minor);
    CHECK(major == 1 && minor == 0);
    MPI_Abi_get_info(&info);
    SAME(size_of(info, "mpi_aint_size"), sizeof(MPI_Aint));
    SAME(size_of(info, "mpi_count_size"), sizeof(MPI_Count));
    SAME(size_of(info, "mpi_offset_size"), sizeof(MPI_Offset));
    MPI_Info_free(&info);
    MPI_Abi_get_fortran_booleans(sizeof yes, &found_yes, &found_no, &is_set);
    SAME(is_set, 0);
    MPI_Abi_set_fortran_booleans(sizeof yes, &yes, &no);
    MPI_Abi_get_fortran_booleans(sizeof yes, &found_yes, &found_no, &is_set);
    CHECK(is_set && found_yes == 1 && found_no == 0);
    CHECK(MPI_Abi_set_fortran_booleans(sizeof yes, &yes, &no) != MPI_SUCCESS); /* once */
    MPI_Abi_get_fortran_info(&info);
    CHECK(info == MPI_INFO_NULL);
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_integer_size", "4");
    MPI_Abi_set_fortran_info(info);
    CHECK(MPI_Abi_set_fortran_info(info) != MPI_SUCCESS);
    MPI_Info_free(&info);
    MPI_Abi_get_fortran_info(&info);
    SAME(size_of(info, "mpi_integer_size"), 4);
    MPI_Info_free(&info);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    handles();
    many_requests();
    abi();
    return conclude();
}
