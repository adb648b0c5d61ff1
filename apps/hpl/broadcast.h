/* The broadcast of a panel along the process rows, by a ring or a binomial tree, that goes on while a rank computes.
 *
 * A rank that has the panel sends it on to its children; how early it notices that it has it depends on how often it asks,
 * which is what the update does between its steps.                                                               */
#ifndef HPL_BROADCAST_H
#define HPL_BROADCAST_H

#include "panel.h"

typedef enum { BROADCAST_RING, BROADCAST_BINOMIAL } BroadcastShape;

enum { CHILDREN_MAX = 31 };

typedef struct {
    const Grid *grid;
    Panel *panel;
    BroadcastShape shape;
    MPI_Request receive, sends[CHILDREN_MAX];
    int children;
    bool here; /* the panel is, and was sent on */
} Broadcast;

static inline void send_to(Broadcast *broadcast, int distance)
{
    int to = (broadcast->panel->owner_column + distance) % broadcast->grid->columns;
    MPI_Isend(broadcast->panel->message, (int)broadcast->panel->length, MPI_DOUBLE, to, 0, broadcast->grid->along_row,
              &broadcast->sends[broadcast->children++]);
}

/* Distances are counted from the owner. In the tree a rank's parent is its distance without the lowest bit that is set; the
 * farthest child is served first, because it has the most to do. */
static inline void send_on(Broadcast *broadcast, int distance)
{
    broadcast->here = true;
    if (broadcast->shape == BROADCAST_RING) {
        if (distance + 1 < broadcast->grid->columns) send_to(broadcast, distance + 1);
        return;
    }
    int reach = distance & -distance;
    if (distance == 0)
        for (reach = 1; reach < broadcast->grid->columns; reach *= 2) continue;
    for (int step = reach / 2; step >= 1; step /= 2)
        if (distance + step < broadcast->grid->columns) send_to(broadcast, distance + step);
}

static inline int distance_from_owner(const Broadcast *broadcast)
{
    int columns = broadcast->grid->columns;
    return (broadcast->grid->column - broadcast->panel->owner_column + columns) % columns;
}

static inline Broadcast broadcast_begin(const Grid *grid, Panel *panel, BroadcastShape shape)
{
    Broadcast broadcast = {.grid = grid, .panel = panel, .shape = shape, .receive = MPI_REQUEST_NULL};
    int distance = distance_from_owner(&broadcast);
    if (distance == 0) {
        send_on(&broadcast, distance);
    } else {
        int parent = shape == BROADCAST_RING ? distance - 1 : distance & (distance - 1);
        MPI_Irecv(panel->message, (int)panel->length, MPI_DOUBLE, (panel->owner_column + parent) % grid->columns, 0,
                  grid->along_row, &broadcast.receive);
    }
    return broadcast;
}

/* Sends the panel on if it has come in the meantime. */
static inline void broadcast_poll(Broadcast *broadcast)
{
    if (broadcast == NULL || broadcast->here) return;
    int came;
    MPI_Test(&broadcast->receive, &came, MPI_STATUS_IGNORE);
    if (came) send_on(broadcast, distance_from_owner(broadcast));
}

static inline void broadcast_end(Broadcast *broadcast)
{
    if (!broadcast->here) {
        MPI_Wait(&broadcast->receive, MPI_STATUS_IGNORE);
        send_on(broadcast, distance_from_owner(broadcast));
    }
    MPI_Waitall(broadcast->children, broadcast->sends, MPI_STATUSES_IGNORE);
}

#endif
