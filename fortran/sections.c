/*
 * Sections of arrays with gaps, as mpi_f08 hands them over: the library sees a copy whose elements lie side by side, and what it writes there goes back.
 *
 * A blocking call has its copy until it returns. Otherwise the copy is kept until the operation is over: by its request, by the window that it is about (until a call completes it
 * at the origin), or by the file of a split collective. Beside the copy lies what it held at the beginning, and only bytes that have changed go back: elements that the operation does
 * not touch are the program's meanwhile.
 */
#include "corelace_fortran.h"

struct kept {
    struct kept *next;
    enum keeper keeper;
    int handle, target;
    int is_written;
    struct corelace_section section; /* its copy is followed by what it held */
};

int corelace_kept;
static struct kept *all;
static int is_busy; /* threads of a rank may complete operations side by side */

static void lock(void) { while (__atomic_exchange_n(&is_busy, 1, __ATOMIC_ACQUIRE)) {} }
static void unlock(void) { __atomic_store_n(&is_busy, 0, __ATOMIC_RELEASE); }

static int has_gaps(const struct corelace_view *view)
{
    ptrdiff_t whole = (ptrdiff_t)view->element;
    int gap = 0;
    for (int i = 0; i < view->rank; i++) {
        if (view->extent[i] == 0) return 0;
        if (view->extent[i] < 0) return gap; /* the last one of an array of assumed size */
        if (view->extent[i] > 1 && view->stride[i] != whole) gap = 1;
        whole *= view->extent[i];
    }
    return gap;
}

static size_t elements(const struct corelace_view *view)
{
    size_t count = 1;
    for (int i = 0; i < view->rank; i++) count *= (size_t)view->extent[i];
    return count;
}

/* Calls for each run of the first dimension, with its place in the copy. */
static void walk(const struct corelace_view *view, char *copy, void (*run)(char *there, ptrdiff_t stride, ptrdiff_t count, size_t element, char *here, char *before),
                 char *before)
{
    ptrdiff_t at[CORELACE_DIMENSIONS] = {0};
    char *there = view->base;
    size_t step = view->element * (size_t)view->extent[0], done = 0;
    for (;;) {
        run(there, view->stride[0], view->extent[0], view->element, copy + done, before ? before + done : NULL);
        done += step;
        int i = 1;
        for (; i < view->rank; i++) {
            there += view->stride[i];
            if (++at[i] < view->extent[i]) break;
            there -= view->stride[i] * view->extent[i];
            at[i] = 0;
        }
        if (i >= view->rank) return;
    }
}

static void gather(char *there, ptrdiff_t stride, ptrdiff_t count, size_t element, char *here, char *before)
{
    for (ptrdiff_t i = 0; i < count; i++) memcpy(here + (size_t)i * element, there + i * stride, element);
    if (before) memcpy(before, here, (size_t)count * element);
}

static void scatter(char *there, ptrdiff_t stride, ptrdiff_t count, size_t element, char *here, char *before)
{
    for (ptrdiff_t i = 0; i < count; i++) {
        char *to = there + i * stride, *from = here + (size_t)i * element;
        if (!before) {
            memcpy(to, from, element);
            continue;
        }
        char *old = before + (size_t)i * element;
        for (size_t byte = 0; byte < element; byte++) {
            if (from[byte] != old[byte]) to[byte] = old[byte] = from[byte];
        }
    }
}

void *corelace_open(struct corelace_section *section, const void *descriptor)
{
    corelace_view(descriptor, &section->view);
    section->copy = NULL;
    if (!has_gaps(&section->view)) return section->view.base;
    section->bytes = elements(&section->view) * section->view.element;
    section->copy = corelace_room(2 * section->bytes, 1);
    walk(&section->view, section->copy, gather, section->copy + section->bytes);
    return section->copy;
}

void corelace_close(struct corelace_section *section, int is_written)
{
    if (!section->copy) return;
    if (is_written) walk(&section->view, section->copy, scatter, NULL);
    free(section->copy);
}

void corelace_keep(struct corelace_section *section, int is_written, enum keeper keeper, int handle, int target, int code)
{
    if (!section->copy) return;
    if (code != MPI_SUCCESS || (keeper == KEPT_BY_REQUEST && request_in(handle) == MPI_REQUEST_NULL)) {
        corelace_close(section, is_written);
        return;
    }
    struct kept *kept = corelace_room(1, sizeof *kept);
    *kept = (struct kept){NULL, keeper, handle, target, is_written, *section};
    lock();
    kept->next = all;
    all = kept;
    corelace_kept++;
    unlock();
}

void corelace_land(enum keeper keeper, int handle, int target, int is_over)
{
    lock();
    for (struct kept **place = &all; *place;) {
        struct kept *kept = *place;
        if (kept->keeper != keeper || kept->handle != handle || (target >= 0 && kept->target != target)) {
            place = &kept->next;
            continue;
        }
        struct corelace_section *section = &kept->section;
        if (kept->is_written) walk(&section->view, section->copy, scatter, section->copy + section->bytes);
        if (!is_over) {
            place = &kept->next;
            continue;
        }
        *place = kept->next;
        corelace_kept--;
        free(section->copy);
        free(kept);
    }
    unlock();
}

void corelace_depart(int request)
{
    lock();
    for (struct kept *kept = all; kept; kept = kept->next) {
        struct corelace_section *section = &kept->section;
        if (kept->keeper == KEPT_BY_REQUEST && kept->handle == request) {
            walk(&section->view, section->copy, gather, section->copy + section->bytes);
        }
    }
    unlock();
}

void *corelace_without_gaps(const void *descriptor, int *code)
{
    struct corelace_view view;
    corelace_view(descriptor, &view);
    *code = MPI_SUCCESS;
    if (!has_gaps(&view)) return view.base;
    *code = MPI_ERR_BUFFER;
    PMPI_Comm_call_errhandler(MPI_COMM_SELF, MPI_ERR_BUFFER);
    return NULL;
}

void *corelace_address(const void *descriptor)
{
    struct corelace_view view;
    corelace_view(descriptor, &view);
    return view.base;
}
