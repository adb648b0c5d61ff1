/* Which rows change places when a panel's pivots are applied, all at once instead of one after the other.
 *
 * The rows of the diagonal block ("top") change places with rows below. A row below always gets what was in a top row before,
 * because a top row is replaced only at its own step and by then holds a top row's content; so rows travel only between the
 * owner of the top rows and one other process row, as many there as back.                                        */
#ifndef HPL_SWAP_H
#define HPL_SWAP_H

#include "panel.h"

typedef struct {
    int slot;   /* place in the top block, 0 to width - 1: where the row goes to, or comes from */
    int global; /* the row below that it comes from, or goes to */
} Move;

typedef struct {
    int *from_top;   /* for each slot, the slot whose content it gets, or -1 if it gets a row from below */
    Move *up, *down; /* rows from below to a slot; rows of a slot to below */
    int ups, downs;
} Swaps;

static inline Swaps swaps_of(const Panel *panel)
{
    int width = panel->width, touched = 0;
    size_t room_for = (size_t)width;
    int *places = room(2 * room_for, sizeof *places), *contents = room(2 * room_for, sizeof *contents);
    for (; touched < width; touched++) places[touched] = contents[touched] = panel->first + touched;
    for (int step = 0; step < width; step++) {
        int pivot = (int)panel->pivots[step], at = 0;
        while (at < touched && places[at] != pivot) at++;
        if (at == touched) {
            places[touched] = contents[touched] = pivot;
            touched++;
        }
        int content = contents[at];
        contents[at] = contents[step];
        contents[step] = content;
    }
    Swaps swaps = {.from_top = room(room_for, sizeof(int))};
    swaps.up = room(room_for, sizeof(Move));
    swaps.down = room(room_for, sizeof(Move));
    for (int slot = 0; slot < width; slot++) {
        int source = contents[slot] - panel->first;
        swaps.from_top[slot] = source < width ? source : -1;
        if (source >= width) swaps.up[swaps.ups++] = (Move){.slot = slot, .global = contents[slot]};
    }
    for (int at = width; at < touched; at++)
        swaps.down[swaps.downs++] = (Move){.slot = contents[at] - panel->first, .global = places[at]};
    free(places);
    free(contents);
    return swaps;
}

static inline void swaps_free(Swaps *swaps)
{
    free(swaps->from_top);
    free(swaps->up);
    free(swaps->down);
}

#endif
