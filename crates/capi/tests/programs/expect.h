/* Small assertions for test programs: they say what was expected and go on; main returns `failures`. */
#ifndef EXPECT_H
#define EXPECT_H

#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int failures;

#define EXPECT(condition)                                                                  \
    do {                                                                                   \
        if (!(condition)) {                                                                \
            printf("%s:%d: expected %s\n", __FILE__, __LINE__, #condition);                \
            failures++;                                                                    \
        }                                                                                  \
    } while (0)

/* The call returns an error of this class, and the error's text contains all of these words. */
#define EXPECT_ERROR(call, class, ...)                                                     \
    do {                                                                                   \
        const char *words[] = {__VA_ARGS__};                                               \
        char text[MPI_MAX_ERROR_STRING];                                                   \
        int code = (call), found = 0, length;                                              \
        MPI_Error_class(code, &found);                                                     \
        MPI_Error_string(code, text, &length);                                             \
        if (found != (class)) {                                                            \
            printf("%s:%d: %s gave %d (%s)\n", __FILE__, __LINE__, #call, found, text);    \
            failures++;                                                                    \
        }                                                                                  \
        for (unsigned i = 0; i < sizeof words / sizeof *words; i++) {                      \
            if (!strstr(text, words[i])) {                                                 \
                printf("%s:%d: no \"%s\" in: %s\n", __FILE__, __LINE__, words[i], text);   \
                failures++;                                                                \
            }                                                                              \
        }                                                                                  \
    } while (0)

#endif
