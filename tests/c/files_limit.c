/* A file that may not become longer than a limit of the process: writes beyond it fail with MPI_ERR_QUOTA, and what was there before stays.
 *
 *     files_limit FILE
 */
#include "files.h"
#include <signal.h>
#include <sys/resource.h>

int main(int argc, char **argv)
{
    static char bytes[1 << 16];
    struct rlimit limit = {1 << 16, 1 << 16};
    MPI_File fh;
    char text[MPI_MAX_ERROR_STRING];
    int length, code;
    begin(&argc, &argv);
    if (argc != 2) MPI_Abort(MPI_COMM_WORLD, 2);
    signal(SIGXFSZ, SIG_IGN);
    SAME(setrlimit(RLIMIT_FSIZE, &limit), 0);
    SAME(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &fh),
         MPI_SUCCESS);
    memset(bytes, 'a' + rank, sizeof bytes);
    SAME(MPI_File_write_at(fh, 1000 * rank, bytes, 1000, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
    code = MPI_File_write_at(fh, 1 << 16, bytes, 1000, MPI_BYTE, MPI_STATUS_IGNORE);
    SAME(class_of(code), MPI_ERR_QUOTA);
    MPI_Error_string(code, text, &length);
    CHECK(strstr(text, argv[1]) != NULL && strstr(text, "1000 bytes at byte 65536") != NULL);
    code = MPI_File_set_size(fh, 1 << 20);
    SAME(class_of(code), MPI_ERR_QUOTA);
    code = MPI_File_write_at_all(fh, 1 << 16, bytes, 1000, MPI_BYTE, MPI_STATUS_IGNORE);
    SAME(class_of(code), MPI_ERR_QUOTA);
    SAME(MPI_File_read_at(fh, 1000 * rank, bytes, 1000, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
    CHECK(bytes[0] == 'a' + rank && bytes[999] == 'a' + rank);
    SAME(MPI_File_close(&fh), MPI_SUCCESS);
    return conclude();
}
