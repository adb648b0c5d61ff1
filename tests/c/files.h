/* A file of a test program's own, of which all ranks know the name. */
#ifndef FILES_H
#define FILES_H

#include "check.h"
#include <unistd.h>

static char path[256];

/* Collective. */
static inline void name_file(const char *purpose)
{
    /* In memory, where MPI_File_sync does not wait for a disk, if the system has such a place. */
    const char *folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    if (getenv("TMPDIR")) folder = getenv("TMPDIR");
    if (rank == 0) {
        snprintf(path, sizeof path, "%s/corelace-%s-XXXXXX", folder, purpose);
        int made = mkstemp(path);
        CHECK(made >= 0);
        close(made);
        unlink(path);
    }
    MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
}

/* Collective: an empty file that is deleted when it is closed. */
static inline MPI_File fresh(int amode)
{
    MPI_File fh = MPI_FILE_NULL;
    if (rank == 0) unlink(path);
    MPI_Barrier(MPI_COMM_WORLD);
    SAME(MPI_File_open(MPI_COMM_WORLD, path, amode | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &fh),
         MPI_SUCCESS);
    CHECK(fh != MPI_FILE_NULL);
    return fh;
}

static inline int class_of(int code)
{
    int class;
    MPI_Error_class(code, &class);
    return class;
}

static inline int count_of(MPI_Status *status, MPI_Datatype datatype)
{
    int count;
    MPI_Get_count(status, datatype, &count);
    return count;
}

/* What has been written by others is seen from here on (MPI section 14.6.1). Collective. */
static inline void settle(MPI_File fh)
{
    SAME(MPI_File_sync(fh), MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    SAME(MPI_File_sync(fh), MPI_SUCCESS);
}

#endif
