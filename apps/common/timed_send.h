/* A send whose duration is measured: MPI_Send, or MPI_Isend and its completion. The first leaves the data to the core, the
 * second to the DMA engine, where a chip and the protocol make that difference.                                  */
#ifndef APPS_TIMED_SEND_H
#define APPS_TIMED_SEND_H

#include <mpi.h>

typedef enum { SEND_BLOCKING, SEND_NONBLOCKING } SendKind;

#define SEND_KINDS "send|isend" /* as words of an option */

static inline const char *send_kind_name(SendKind kind) { return kind == SEND_BLOCKING ? "send" : "isend"; }

/* Seconds from the call until the buffer may be used again. */
static inline double timed_send(SendKind kind, const void *data, int bytes, int to, MPI_Comm comm)
{
    double begin = MPI_Wtime();
    if (kind == SEND_BLOCKING) {
        MPI_Send(data, bytes, MPI_BYTE, to, 0, comm);
    } else {
        MPI_Request request;
        MPI_Isend(data, bytes, MPI_BYTE, to, 0, comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    return MPI_Wtime() - begin;
}

#endif
