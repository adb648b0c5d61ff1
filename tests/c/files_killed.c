/* Ranks write records and say so; rank 1 is killed in the middle of it. What was said to be written is in the file, and no lock is left.
 *
 *     files_killed FILE RECORDS
 */
#include "check.h"
#include <signal.h>

enum { RECORD = 5000 };

int main(int argc, char **argv)
{
    static unsigned char record[RECORD];
    MPI_File fh;
    MPI_Datatype gapped;
    begin(&argc, &argv);
    if (argc != 3) MPI_Abort(MPI_COMM_WORLD, 2);
    int records = atoi(argv[2]);
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &fh);
    /* Every second byte, under a lock. */
    MPI_Type_create_resized(MPI_BYTE, 0, 2, &gapped);
    MPI_Type_commit(&gapped);
    MPI_File_set_view(fh, (MPI_Offset)rank * records * RECORD * 2, MPI_BYTE, gapped, "native", MPI_INFO_NULL);
    MPI_File_set_atomicity(fh, 1);
    for (int i = 0; i < records; i++) {
        fill(record, RECORD, rank, i);
        if (MPI_File_write_at(fh, (MPI_Offset)i * RECORD, record, RECORD, MPI_BYTE, MPI_STATUS_IGNORE) != MPI_SUCCESS)
            MPI_Abort(MPI_COMM_WORLD, 3);
        printf("%d %d\n", rank, i);
        fflush(stdout);
        if (rank == 1 && i == records / 2) raise(SIGKILL);
    }
    MPI_Type_free(&gapped);
    MPI_File_close(&fh);
    return conclude();
}
