/* Asks for 3 MB in every way a program can; on a chip with less, each is refused and nothing breaks. "status" ends with 4 if so. */
#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { MUCH = 3 << 20 };

static int refused;

static void tell(const char *what, const void *block)
{
    if (!block && errno == ENOMEM) {
        printf("%s: refused\n", what);
        refused = 1;
    }
}

int main(int argc, char **argv)
{
    void *block = 0, *small;
    int error, class = MPI_SUCCESS, rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        errno = 0;
        tell("malloc", block = malloc(MUCH));
        free(block);
        tell("calloc", block = calloc(MUCH / 4, 4));
        free(block);
        small = malloc(1000);
        tell("realloc", block = realloc(small, MUCH));
        free(block ? block : small);
        tell("aligned_alloc", block = aligned_alloc(64, MUCH));
        free(block);
        if (posix_memalign(&block, 64, MUCH) == ENOMEM) printf("posix_memalign: refused\n");
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
        error = MPI_Alloc_mem(MUCH, MPI_INFO_NULL, &block);
        MPI_Error_class(error, &class);
        if (class == MPI_ERR_NO_MEM) printf("MPI_Alloc_mem: refused\n");
        /* What was refused holds nothing: a megabyte still fits, again and again. */
        for (int i = 0; i < 10; i++) {
            free(malloc(1 << 20));
            MPI_Alloc_mem(1 << 20, MPI_INFO_NULL, &block);
            MPI_Free_mem(block);
        }
        printf("done\n");
    }
    MPI_Finalize();
    return argc > 1 && refused ? 4 : 0;
}
