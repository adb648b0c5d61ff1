/* The variables whose addresses stand for something, and small things that all entry points share. */
#include "corelace_fortran.h"

#include <stdio.h>

/* Compilers align common blocks like this. */
#define IN_COMMON __attribute__((aligned(32)))
IN_COMMON int corelace_bottom_, corelace_in_place_, corelace_buffer_automatic_;
IN_COMMON int corelace_status_ignore_[8], corelace_statuses_ignore_[8];
IN_COMMON int corelace_errcodes_ignore_[1], corelace_unweighted_[1], corelace_weights_empty_[1];
IN_COMMON char corelace_argv_null_[1], corelace_argvs_null_[1];

void *corelace_room(size_t count, size_t bytes)
{
    void *room = malloc(count ? count * bytes : 1);
    if (!room) {
        fprintf(stderr, "corelace: no memory for the arguments of a Fortran call\n");
        PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    }
    return room;
}

MPI_Datatype *corelace_datatypes(const int *handles, MPI_Count count)
{
    MPI_Datatype *types = corelace_room(count > 0 ? (size_t)count : 0, sizeof *types);
    for (MPI_Count i = 0; i < count; i++) types[i] = datatype_in(handles[i]);
    return types;
}

MPI_Info *corelace_infos(const int *handles, int count)
{
    MPI_Info *infos = corelace_room(count > 0 ? (size_t)count : 0, sizeof *infos);
    for (int i = 0; i < count; i++) infos[i] = info_in(handles[i]);
    return infos;
}

int corelace_peers(MPI_Comm comm)
{
    int size = 0, is_inter = 0;
    if (comm == MPI_COMM_NULL || PMPI_Comm_test_inter(comm, &is_inter) != MPI_SUCCESS) return 0;
    if (is_inter) PMPI_Comm_remote_size(comm, &size);
    else PMPI_Comm_size(comm, &size);
    return size;
}

int corelace_neighbours(MPI_Comm comm, int outgoing)
{
    int in = 0, out = 0, is_weighted, kind = MPI_UNDEFINED, rank;
    if (comm == MPI_COMM_NULL || PMPI_Topo_test(comm, &kind) != MPI_SUCCESS) return 0;
    if (kind == MPI_DIST_GRAPH) {
        PMPI_Dist_graph_neighbors_count(comm, &in, &out, &is_weighted);
        return outgoing ? out : in;
    }
    if (kind == MPI_CART) {
        PMPI_Cartdim_get(comm, &in);
        return 2 * in;
    }
    if (kind == MPI_GRAPH && PMPI_Comm_rank(comm, &rank) == MPI_SUCCESS) PMPI_Graph_neighbors_count(comm, rank, &in);
    return in;
}

static char *copied(const char *text, size_t from, size_t to)
{
    char *string = corelace_room(to - from + 1, 1);
    memcpy(string, text + from, to - from);
    string[to - from] = 0;
    return string;
}

static size_t without_blanks(const char *text, size_t length)
{
    while (length && (text[length - 1] == ' ' || !text[length - 1])) length--;
    return length;
}

char *corelace_string(const char *text, size_t length) { return copied(text, 0, without_blanks(text, length)); }

char *corelace_stripped(const char *text, size_t length)
{
    size_t from = 0;
    length = without_blanks(text, length);
    while (from < length && text[from] == ' ') from++;
    return copied(text, from, length);
}

void corelace_fill(char *text, size_t length, const char *from)
{
    size_t known = strlen(from);
    if (known > length) known = length;
    memcpy(text, from, known);
    memset(text + known, ' ', length - known);
}

/*
 * Values that Fortran has set as attributes. Each value has one cell, which is never freed: C gets the cell's address, as MPI wants it (section 19.3.7), and an address
 * that is no cell's was set by C. A table of chains by the value, and one by the address.
 */
struct cell {
    MPI_Aint value;
    struct cell *of_value, *of_address;
};
#define CHAINS 1024
static struct cell *by_value[CHAINS], *by_address[CHAINS];
static int is_busy;

static unsigned chain(uint64_t key) { return (unsigned)((key * 0x9e3779b97f4a7c15u) >> 54); }

void *corelace_attribute_in(MPI_Aint value)
{
    while (__atomic_exchange_n(&is_busy, 1, __ATOMIC_ACQUIRE)) {}
    struct cell *cell = by_value[chain((uint64_t)value)];
    while (cell && cell->value != value) cell = cell->of_value;
    if (!cell) {
        cell = corelace_room(1, sizeof *cell);
        struct cell **value_chain = &by_value[chain((uint64_t)value)], **address_chain = &by_address[chain((uintptr_t)cell)];
        *cell = (struct cell){value, *value_chain, *address_chain};
        *value_chain = *address_chain = cell;
    }
    __atomic_store_n(&is_busy, 0, __ATOMIC_RELEASE);
    return cell;
}

MPI_Aint corelace_attribute_out(void *value)
{
    while (__atomic_exchange_n(&is_busy, 1, __ATOMIC_ACQUIRE)) {}
    struct cell *cell = by_address[chain((uintptr_t)value)];
    while (cell && (void *)cell != value) cell = cell->of_address;
    __atomic_store_n(&is_busy, 0, __ATOMIC_RELEASE);
    return cell ? cell->value : (MPI_Aint)value;
}

/* Of this library alone: where the program's own code does not lie. */
extern void corelace_bindings(const void *from, const void *to) __attribute__((weak));
extern const char __start_corelace_entries[] __attribute__((visibility("hidden")));
extern const char __stop_corelace_entries[] __attribute__((visibility("hidden")));

void corelace_tell_fortran(void)
{
    if (corelace_bindings) corelace_bindings(__start_corelace_entries, __stop_corelace_entries);
    static const char *const sizes[][2] = {
        {"mpi_logical_size", "4"}, {"mpi_integer_size", "4"}, {"mpi_real_size", "4"}, {"mpi_double_precision_size", "8"},
    };
    int yes = 1, no = 0, is_set = 0;
    MPI_Info info = MPI_INFO_NULL;
    if (PMPI_Abi_get_fortran_booleans(sizeof yes, &yes, &no, &is_set) == MPI_SUCCESS && !is_set) {
        PMPI_Abi_set_fortran_booleans(sizeof yes, &yes, &no);
    }
    if (PMPI_Abi_get_fortran_info(&info) != MPI_SUCCESS) return;
    if (info == MPI_INFO_NULL && PMPI_Info_create(&info) == MPI_SUCCESS) {
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) PMPI_Info_set(info, sizes[i][0], sizes[i][1]);
        PMPI_Abi_set_fortran_info(info);
    }
    PMPI_Info_free(&info);
}
