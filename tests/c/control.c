/*
 * Ranks that break the rules of the bootstrap protocol; they do not call MPI. control lie|exit|garbage: rank 1 speaks for rank 0, or
 * of an exit, or sends no frames at all, and all wait to be ended. control flood: rank 0 sends 32 MB of messages and says so.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int channel;

static void frame(unsigned char kind, const uint32_t *words, uint32_t count) {
    unsigned char bytes[32] = {(unsigned char)(4 * count), 0, 0, 0, kind};
    memcpy(bytes + 8, words, 4 * count);
    if (write(channel, bytes, 8 + 4 * count) < 0) {
        exit(1);
    }
}

int main(int argc, char **argv) {
    int rank = atoi(getenv("CORELACE_RANK"));
    const char *how = argc > 1 ? argv[1] : "";
    channel = atoi(getenv("CORELACE_CONTROL_FD"));
    if (rank == 1 && !strcmp(how, "lie")) {
        frame(2, (uint32_t[]){0}, 1);
    } else if (rank == 1 && !strcmp(how, "exit")) {
        frame(3, (uint32_t[]){1, 9}, 2);
    } else if (rank == 1 && !strcmp(how, "garbage")) {
        if (write(channel, "GET / HTTP/1.1\r\n\r\n", 18) < 0) {
            return 1;
        }
    } else if (rank == 0 && !strcmp(how, "flood")) {
        static unsigned char many[12 * 4096];
        for (int i = 0; i < 4096; i++) {
            memcpy(many + 12 * i, (unsigned char[12]){4, 0, 0, 0, 2}, 12);
        }
        for (size_t sent = 0; sent < 32 << 20;) {
            ssize_t now = write(channel, many, sizeof many);
            if (now != (ssize_t)sizeof many) {
                return 1;
            }
            sent += (size_t)now;
        }
        printf("flooded\n");
        fflush(stdout);
    }
    for (;;) {
        pause();
    }
}
