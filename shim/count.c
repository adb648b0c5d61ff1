/*
 * What a program computes, counted by itself where it was compiled by `mpicc --count`: every basic block adds to the words below, one a kind of
 * work (Work in crates/sim/src/chip/core.rs). The number in the names says what the words mean.
 *
 * The words are "common", so that this archive and every counted object mean the same ones.
 */
#include "corelace_program.h"

CORELACE_INTERNAL __attribute__((common)) uint64_t corelace_counted_1[16];

/* In every counted object, and nowhere else. Its address is looked at where the linker wrote it: code cannot name what is not there. */
CORELACE_INTERNAL __attribute__((weak)) extern const uint64_t corelace_is_counted_1;
static const uint64_t *const volatile mark = &corelace_is_counted_1;

void corelace_show_counters(const struct corelace_start *start) {
    if (start->counters && mark) {
        *start->counters = corelace_counted_1;
    }
}
