/* Ranks that print for ever, with newlines or (chatter line) without. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    static char text[1 << 16];
    MPI_Init(&argc, &argv);
    memset(text, 'x', sizeof text);
    if (argc < 2) {
        for (size_t at = 63; at < sizeof text; at += 64) {
            text[at] = '\n';
        }
    }
    for (;;) {
        fwrite(text, 1, sizeof text, stdout);
    }
}
