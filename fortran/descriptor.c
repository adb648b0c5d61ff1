/* Reads the descriptors of one Fortran compiler, whose header says how they are laid out. */
#include <ISO_Fortran_binding.h>

#include "corelace_fortran.h"

void corelace_view(const void *descriptor, struct corelace_view *view)
{
    const CFI_cdesc_t *given = descriptor;
    view->base = given->base_addr;
    view->element = given->elem_len;
    view->rank = given->rank;
    for (int i = 0; i < view->rank; i++) {
        view->extent[i] = given->dim[i].extent;
        view->stride[i] = given->dim[i].sm;
    }
}
