/* A large message whose sender's or receiver's memory cannot be used: the guilty rank is told MPI_ERR_BUFFER and which buffer, the
   other that its peer's was bad, and both go on. Who copies depends on who comes first and how, so all of that is varied. */
#include <sys/mman.h>

#include "check.h"

#define BYTES (4 << 20)

static char *good;

/* One message; `bad` is the memory of the guilty rank. */
static void exchange(int guilty, char *bad, int receiver_first, int blocking)
{
    char *mine = rank == guilty ? bad : good;
    char text[MPI_MAX_ERROR_STRING];
    int code, class, length;
    MPI_Request request;
    if (rank == (receiver_first ? 0 : 1)) MPI_Recv(NULL, 0, MPI_BYTE, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 0 && blocking) {
        if (!receiver_first) MPI_Send(NULL, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
        code = MPI_Send(mine, BYTES, MPI_BYTE, 1, 2, MPI_COMM_WORLD);
    } else if (rank == 1 && blocking) {
        if (receiver_first) MPI_Send(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
        code = MPI_Recv(mine, BYTES, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        if (rank == 0) code = MPI_Isend(mine, BYTES, MPI_BYTE, 1, 2, MPI_COMM_WORLD, &request);
        else code = MPI_Irecv(mine, BYTES, MPI_BYTE, 0, 2, MPI_COMM_WORLD, &request);
        if (rank == (receiver_first ? 1 : 0)) MPI_Send(NULL, 0, MPI_BYTE, 1 - rank, 1, MPI_COMM_WORLD);
        if (code == MPI_SUCCESS) {
            code = MPI_Wait(&request, MPI_STATUS_IGNORE);
            CHECK(request == MPI_REQUEST_NULL);
        }
    }
    MPI_Error_class(code, &class);
    MPI_Error_string(code, text, &length);
    if (rank == guilty) {
        char address[40];
        snprintf(address, sizeof address, "%p", (void *)bad);
        SAME(class, MPI_ERR_BUFFER);
        CHECK(strstr(text, address) != NULL);
        CHECK(strstr(text, "4194304 bytes") != NULL);
    } else {
        SAME(class, MPI_ERR_OTHER);
        CHECK(strstr(text, guilty == 0 ? "the send buffer of rank 0" : "the receive buffer of rank 1") != NULL);
    }
    if (class == MPI_SUCCESS || strstr(text, "gone") != NULL) fprintf(stderr, "rank %d was told: %s\n", rank, text);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    good = malloc(BYTES);
    memset(good, 1, BYTES);
    char *unmapped = mmap(NULL, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *read_only = mmap(NULL, BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int kind = 0; kind < 4; kind++) {
        exchange(0, unmapped, kind & 1, kind >> 1);
        exchange(1, read_only, kind & 1, kind >> 1);
        exchange(1, unmapped, kind & 1, kind >> 1);
    }
    return conclude();
}
