/*
 * What the Fortran entry points have in common: names, handles, addresses that stand for something, strings, sections of arrays.
 *
 * An entry point is called as Fortran calls: every argument by its address, lengths of strings after the last argument, by value. Files whose name
 * begins with "entries_" and those that are generated are compiled twice: mpi_send_ calls MPI_Send and pmpi_send_ calls PMPI_Send, so that tools in C
 * and tools in Fortran see the calls that are theirs. ierror may be absent in mpi_f08, and is then null.
 */
#ifndef CORELACE_FORTRAN_H
#define CORELACE_FORTRAN_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Entry points lie side by side, so that the library can tell the program's code from them. */
#define AMONG_ENTRIES __attribute__((section("corelace_entries")))

/* Names: of the entry point, of that in mpi_f08, of that with descriptors, and of the C function. A program may define an entry point of its own. */
#if defined(PROFILING)
#define ENTRY(name) pmpi_##name##_
#define ENTRY_F08(name) pmpi_##name##_f08_
#define ENTRY_F08TS(name) pmpi_##name##_f08ts_
#define CALL(name) PMPI_##name
#define REPLACEABLE AMONG_ENTRIES
#else
#define ENTRY(name) mpi_##name##_
#define ENTRY_F08(name) mpi_##name##_f08_
#define ENTRY_F08TS(name) mpi_##name##_f08ts_
#define CALL(name) MPI_##name
#define REPLACEABLE AMONG_ENTRIES __attribute__((weak))
#endif
#define QUOTED_LATER(name) #name
#define QUOTED(name) QUOTED_LATER(name)
/* The same code under a second name. */
#define ALSO(second, first) extern __typeof__(first) second __attribute__((weak, alias(QUOTED(first))))

/* What a call says in the end. */
#define ANSWER(code) do { if (ierror) *ierror = (code); } while (0)

/* Handles: predefined ones are their own integers, and need no look into a table. */
#define FIRST_OF_TABLE 0x1000
#define HANDLE(name, type, stem)                                                                                        \
    static inline __attribute__((unused)) type name##_in(int handle)                                                    \
    {                                                                                                                   \
        return handle >= 0 && handle < FIRST_OF_TABLE ? (type)(intptr_t)handle : PMPI_##stem##_fromint(handle);         \
    }                                                                                                                   \
    static inline __attribute__((unused)) int name##_out(type handle)                                                   \
    {                                                                                                                   \
        return (uintptr_t)handle < FIRST_OF_TABLE ? (int)(intptr_t)handle : PMPI_##stem##_toint(handle);                \
    }
HANDLE(comm, MPI_Comm, Comm)
HANDLE(datatype, MPI_Datatype, Type)
HANDLE(errhandler, MPI_Errhandler, Errhandler)
HANDLE(file, MPI_File, File)
HANDLE(group, MPI_Group, Group)
HANDLE(info, MPI_Info, Info)
HANDLE(message, MPI_Message, Message)
HANDLE(op, MPI_Op, Op)
HANDLE(request, MPI_Request, Request)
HANDLE(session, MPI_Session, Session)
HANDLE(win, MPI_Win, Win)

/* Memory for as many elements, at least one; the job ends if there is none. */
void *corelace_room(size_t count, size_t bytes);

/* A copy of an array of handles as C has them, to be freed. */
MPI_Datatype *corelace_datatypes(const int *handles, MPI_Count count);
MPI_Info *corelace_infos(const int *handles, int count);

/* How many others a process exchanges data with. */
int corelace_peers(MPI_Comm comm);
int corelace_neighbours(MPI_Comm comm, int outgoing);

/* Variables whose addresses stand for something: those of mpif.h are common blocks, those of the modules have these names by bind(C). */
extern int corelace_bottom_, corelace_in_place_, corelace_buffer_automatic_;
extern int corelace_status_ignore_[8], corelace_statuses_ignore_[8];
extern int corelace_errcodes_ignore_[1], corelace_unweighted_[1], corelace_weights_empty_[1];
extern char corelace_argv_null_[1], corelace_argvs_null_[1];

static inline __attribute__((unused)) void *choice(void *given)
{
    if (given == (void *)&corelace_in_place_) return MPI_IN_PLACE;
    if (given == (void *)&corelace_bottom_) return MPI_BOTTOM;
    if (given == (void *)&corelace_buffer_automatic_) return MPI_BUFFER_AUTOMATIC;
    return given;
}

static inline __attribute__((unused)) MPI_Status *status(int *given)
{
    return given == corelace_status_ignore_ ? MPI_STATUS_IGNORE : (MPI_Status *)given;
}

static inline __attribute__((unused)) MPI_Status *statuses(int *given)
{
    return given == corelace_statuses_ignore_ ? MPI_STATUSES_IGNORE : (MPI_Status *)given;
}

static inline __attribute__((unused)) int *errcodes(int *given)
{
    return given == corelace_errcodes_ignore_ ? MPI_ERRCODES_IGNORE : given;
}

static inline __attribute__((unused)) int *weights(int *given)
{
    if (given == corelace_unweighted_) return MPI_UNWEIGHTED;
    return given == corelace_weights_empty_ ? MPI_WEIGHTS_EMPTY : given;
}

/* An index of C, which counts from 0, as Fortran counts. */
static inline __attribute__((unused)) int index_out(int found) { return found >= 0 ? found + 1 : found; }

/* A string of Fortran as C has it: without the blanks at its end (and at its beginning, if that is asked for), to be freed. */
char *corelace_string(const char *text, size_t length);
char *corelace_stripped(const char *text, size_t length);
/* Fills a string of Fortran, with blanks behind. */
void corelace_fill(char *text, size_t length, const char *from);

/* Attributes: a value that Fortran has set is for C the address of a variable that holds it. */
void *corelace_attribute_in(MPI_Aint value);
MPI_Aint corelace_attribute_out(void *value);

/* Tells the library what a LOGICAL and an INTEGER are, once. */
void corelace_tell_fortran(void);

/* Functions of the program, and what is given to the library in their stead. */
enum bearer { OF_COMM, OF_TYPE, OF_WIN, OF_MPI_1 };
struct keyval_functions {
    void *copy, *delete; /* of C, predefined or not */
    void *extra_state;
};
struct keyval_functions corelace_keyval(enum bearer bearer, void *copy, void *delete, MPI_Aint extra_state);

/* A section of an array, as its descriptor tells: filled in by code that knows the Fortran compiler's descriptors. */
#define CORELACE_DIMENSIONS 15
struct corelace_view {
    char *base;
    size_t element; /* bytes */
    int rank;
    ptrdiff_t extent[CORELACE_DIMENSIONS]; /* negative: not known, of an array of assumed size */
    ptrdiff_t stride[CORELACE_DIMENSIONS]; /* bytes */
};
void corelace_view(const void *descriptor, struct corelace_view *view);

struct corelace_section {
    struct corelace_view view;
    char *copy; /* of a section with gaps, its elements side by side */
    size_t bytes;
};
/* Until when the library uses a section. */
enum keeper { KEPT_BY_REQUEST, KEPT_BY_WINDOW, KEPT_BY_FILE };

void *corelace_open(struct corelace_section *section, const void *descriptor);
void corelace_close(struct corelace_section *section, int is_written);
void corelace_keep(struct corelace_section *section, int is_written, enum keeper keeper, int handle, int target, int code);
/* The address of an array that must have no gaps; says so, and is null, if it has. */
void *corelace_without_gaps(const void *descriptor, int *code);
void *corelace_address(const void *descriptor);

/* How many sections are kept; while there are none, nothing is to do when operations complete. */
extern int corelace_kept;
/* An operation has completed: what it has written goes where it belongs. All targets: -1. */
void corelace_land(enum keeper keeper, int handle, int target, int is_over);
/* A persistent operation begins, or a part of one is ready: what it sends is taken from where it is. */
void corelace_depart(int request);

#endif
