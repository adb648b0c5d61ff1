/* What programs of MPI-1 and those that talk to Fortran find in mpi.h when mpicc compiles. */
#include "files.h"

static int calls;
static void note(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    calls += *code != MPI_SUCCESS;
}

typedef struct {
    char tag;
    double value;
} record;

static void removed_functions(void)
{
    MPI_Errhandler handler, found;
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Errhandler_create(note, &handler);
    MPI_Errhandler_set(comm, handler);
    MPI_Errhandler_get(comm, &found);
    CHECK(found == handler);
    MPI_Send(NULL, -1, MPI_INT, 0, 0, comm);
    SAME(calls, 1);
    MPI_Errhandler_free(&found);
    MPI_Errhandler_free(&handler);
    MPI_Comm_free(&comm);
}

static void removed_constructors(void)
{
    static record values[2];
    MPI_Aint places[4], base, lb = 0, ub = 0, extent = 0;
    int ones[4] = {1, 1, 1, 1}, bytes = 0;
    MPI_Datatype types[4] = {MPI_LB, MPI_CHAR, MPI_DOUBLE, MPI_UB}, type, outer;
    char name[MPI_MAX_OBJECT_NAME] = "";
    MPI_Type_get_name(MPI_LB, name, &bytes);
    CHECK(!strcmp(name, "MPI_LB"));
    MPI_Type_get_name(MPI_C_COMPLEX, name, &bytes); /* MPI_C_FLOAT_COMPLEX is its synonym */
    CHECK(!strcmp(name, "MPI_C_COMPLEX"));
    MPI_Address(&values[0], &base);
    places[0] = -8;
    MPI_Address(&values[0].tag, &places[1]);
    MPI_Address(&values[0].value, &places[2]);
    MPI_Address(&values[1], &places[3]);
    for (int i = 1; i < 4; i++) places[i] -= base;
    places[3] += 16;
    MPI_Type_struct(4, ones, places, types, &type);
    MPI_Type_lb(type, &lb);
    MPI_Type_ub(type, &ub);
    MPI_Type_extent(type, &extent);
    MPI_Type_size(type, &bytes);
    SAME(lb, -8);
    SAME(ub, sizeof(record) + 16);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(MPI_Type_ub(type, NULL) != MPI_SUCCESS);
    SAME(extent, sizeof(record) + 24);
    SAME(bytes, 9);
    /* Bounds that were set stay those of types made of it. */
    MPI_Type_contiguous(2, type, &outer);
    MPI_Type_extent(outer, &extent);
    SAME(extent, 2 * (sizeof(record) + 24));
    MPI_Type_free(&outer);
    MPI_Type_free(&type);
    /* Only an upper bound: the lower one is where the data begins. */
    MPI_Type_struct(2, ones, (MPI_Aint[]){4, 40}, (MPI_Datatype[]){MPI_INT, MPI_UB}, &type);
    MPI_Type_lb(type, &lb);
    MPI_Type_extent(type, &extent);
    SAME(lb, 4);
    SAME(extent, 36);
    MPI_Type_free(&type);
    MPI_Type_hvector(2, 1, 12, MPI_INT, &type);
    MPI_Type_extent(type, &extent);
    SAME(extent, 16);
    MPI_Type_free(&type);
    MPI_Type_hindexed(2, ones, (MPI_Aint[]){0, 20}, MPI_INT, &type);
    MPI_Type_extent(type, &extent);
    SAME(extent, 24);
    MPI_Type_free(&type);
}

/* What a library for files called its requests before they were MPI's. */
static void requests_of_files(void)
{
    char out[8] = "written", in[8] = "";
    int flag = 0;
    MPI_File fh;
    MPIO_Request request = MPIO_REQUEST_NULL;
#ifndef MPIO_USES_MPI_REQUEST
    CHECK(!"MPIO_USES_MPI_REQUEST");
#endif
    name_file("requests");
    fh = fresh(MPI_MODE_RDWR);
    MPI_File_iwrite_at(fh, rank * 8, out, 8, MPI_CHAR, &request);
    MPIO_Wait(&request, MPI_STATUS_IGNORE);
    MPI_File_iread_at(fh, rank * 8, in, 8, MPI_CHAR, &request);
    while (!flag) MPIO_Test(&request, &flag, MPI_STATUS_IGNORE);
    CHECK(request == MPIO_REQUEST_NULL && !strcmp(in, out));
    MPI_File_close(&fh);
}

static void fortran(void)
{
    MPI_Fint number = MPI_Comm_c2f(MPI_COMM_WORLD), words[MPI_F_STATUS_SIZE];
    MPI_Status status, again;
    MPI_Datatype type;
    int out = 3, in = 0, count = 0;
    CHECK(MPI_Comm_f2c(number) == MPI_COMM_WORLD);
    SAME(PMPI_Message_c2f(MPI_MESSAGE_NULL), MPI_Message_c2f(MPI_MESSAGE_NULL));
    CHECK(PMPI_Message_f2c(PMPI_Message_c2f(MPI_MESSAGE_NULL)) == MPI_MESSAGE_NULL);
    MPI_Type_contiguous(2, MPI_INT, &type);
    CHECK(MPI_Type_f2c(MPI_Type_c2f(type)) == type);
    MPI_Type_free(&type);
    CHECK(MPI_Op_f2c(MPI_Op_c2f(MPI_SUM)) == MPI_SUM);
    CHECK(MPI_Request_f2c(MPI_Request_c2f(MPI_REQUEST_NULL)) == MPI_REQUEST_NULL);
    CHECK(MPI_Info_f2c(MPI_Info_c2f(MPI_INFO_NULL)) == MPI_INFO_NULL);
    MPI_Sendrecv(&out, 1, MPI_INT, rank, 6, &in, 1, MPI_INT, rank, 6, MPI_COMM_WORLD, &status);
    PMPI_Status_c2f(&status, words);
    SAME(words[MPI_F_SOURCE], rank);
    SAME(words[MPI_F_TAG], 6);
    memset(&again, 0, sizeof again);
    MPI_Status_f2c(words, &again);
    MPI_Get_count(&again, MPI_INT, &count);
    SAME(count, 1);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    removed_functions();
    removed_constructors();
    requests_of_files();
    fortran();
    return conclude();
}
