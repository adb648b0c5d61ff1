/*
 * stdin, stdout and stderr of a rank, and the functions that use them without naming them.
 *
 * `stdout` is a variable: defining it here gives each copy of the program its own, which in an ordinary process points to
 * libc's stream for ever. The functions below are then the same in both modes: they name the variable.
 */
#define _GNU_SOURCE
#include "corelace_program.h"

#include <err.h>
#include <errno.h>
#include <error.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#ifndef __GLIBC__
#error "ranks as threads need glibc: its streams are named below"
#endif

#undef stdin
#undef stdout
#undef stderr

/* The objects behind libc's three streams; an initialiser must be an address, so the variables of that name do not do. */
extern char _IO_2_1_stdin_[], _IO_2_1_stdout_[], _IO_2_1_stderr_[];

CORELACE_REPLACES_LIBC FILE *stdin = (FILE *)_IO_2_1_stdin_;
CORELACE_REPLACES_LIBC FILE *stdout = (FILE *)_IO_2_1_stdout_;
CORELACE_REPLACES_LIBC FILE *stderr = (FILE *)_IO_2_1_stderr_;

/* Output and input of ranks that have no descriptors of their own; the cookie is the number that the program knows. */
static ssize_t put_records(void *fd, const char *bytes, size_t count) {
    ssize_t written = write((int)(intptr_t)fd, bytes, count);
    return written < 0 ? 0 : written; /* 0 is how such a stream says that it failed */
}

static ssize_t end_of_input(void *fd, char *bytes, size_t count) {
    (void)fd, (void)bytes, (void)count;
    return 0;
}

static FILE *without_descriptor(int fd, const char *mode) {
    FILE *stream = fopencookie((void *)(intptr_t)fd, mode, (cookie_io_functions_t){.read = end_of_input, .write = put_records});
    if (stream) {
        stream->_fileno = fd; /* what fileno tells the program; the stream itself does not look at it */
    }
    return stream;
}

static void open_recorded_streams(const struct corelace_start *start) {
    /* Part of a page that the rank has anyway, where libc would take two more. The launcher puts longer lines together. */
    static char line[1024];
    FILE *stream;
    if ((stream = without_descriptor(STDOUT_FILENO, "w"))) {
        setvbuf(stream, line, _IOLBF, sizeof line);
        stdout = stream;
    }
    if ((stream = without_descriptor(STDERR_FILENO, "w"))) {
        setvbuf(stream, NULL, _IONBF, 0);
        stderr = stream;
    }
    if ((stream = start->stdin_fd >= 0 ? fdopen(start->stdin_fd, "r") : without_descriptor(STDIN_FILENO, "r"))) {
        stdin = stream;
    }
}

void corelace_open_streams(const struct corelace_start *start) {
    FILE *stream;
    if (start->records) {
        open_recorded_streams(start);
        return;
    }
    if (start->stdout_fd >= 0 && (stream = fdopen(start->stdout_fd, "w"))) {
        /* Lines, so that what a rank says before another one fails is not lost with the process. */
        setvbuf(stream, NULL, _IOLBF, BUFSIZ);
        stdout = stream;
    }
    if (start->stderr_fd >= 0 && (stream = fdopen(start->stderr_fd, "w"))) {
        setvbuf(stream, NULL, _IONBF, 0);
        stderr = stream;
    }
    if ((stream = start->stdin_fd >= 0 ? fdopen(start->stdin_fd, "r") : fopen("/dev/null", "re"))) {
        stdin = stream;
    }
}

void corelace_flush_streams(void) {
    fflush(stdout);
    fflush(stderr);
}

extern int __vfprintf_chk(FILE *stream, int flag, const char *format, va_list list);
extern int __vfwprintf_chk(FILE *stream, int flag, const wchar_t *format, va_list list);

/* <stdio.h> renames scanf and vscanf to their C99 forms; these two are the names themselves. */
extern int plain_scanf(const char *format, ...) __asm__("scanf");
extern int plain_vscanf(const char *format, va_list list) __asm__("vscanf");

/* Defines a variadic function by its va_list form. */
#define VARIADIC(result, name, parameters, last, call)        \
    CORELACE_REPLACES_LIBC result name parameters {           \
        va_list list;                                         \
        va_start(list, last);                                 \
        result done = call;                                   \
        va_end(list);                                         \
        return done;                                          \
    }

VARIADIC(int, printf, (const char *format, ...), format, vfprintf(stdout, format, list))
VARIADIC(int, __printf_chk, (int flag, const char *format, ...), format, __vfprintf_chk(stdout, flag, format, list))
VARIADIC(int, wprintf, (const wchar_t *format, ...), format, vfwprintf(stdout, format, list))
VARIADIC(int, __wprintf_chk, (int flag, const wchar_t *format, ...), format,
         __vfwprintf_chk(stdout, flag, format, list))
VARIADIC(int, plain_scanf, (const char *format, ...), format, vfscanf(stdin, format, list))
VARIADIC(int, __isoc99_scanf, (const char *format, ...), format, vfscanf(stdin, format, list))
VARIADIC(int, __isoc23_scanf, (const char *format, ...), format, vfscanf(stdin, format, list))

CORELACE_REPLACES_LIBC int vprintf(const char *format, va_list list) { return vfprintf(stdout, format, list); }

CORELACE_REPLACES_LIBC int __vprintf_chk(int flag, const char *format, va_list list) {
    return __vfprintf_chk(stdout, flag, format, list);
}

CORELACE_REPLACES_LIBC int plain_vscanf(const char *format, va_list list) { return vfscanf(stdin, format, list); }

CORELACE_REPLACES_LIBC int __isoc99_vscanf(const char *format, va_list list) {
    return vfscanf(stdin, format, list);
}

CORELACE_REPLACES_LIBC int __isoc23_vscanf(const char *format, va_list list) {
    return vfscanf(stdin, format, list);
}

CORELACE_REPLACES_LIBC int puts(const char *text) {
    flockfile(stdout); /* text and newline stay together when threads of the rank print */
    int done = fputs_unlocked(text, stdout) < 0 || putc_unlocked('\n', stdout) == EOF ? EOF : 1;
    funlockfile(stdout);
    return done;
}

CORELACE_REPLACES_LIBC int putchar(int character) { return putc(character, stdout); }
CORELACE_REPLACES_LIBC int putchar_unlocked(int character) { return putc_unlocked(character, stdout); }
CORELACE_REPLACES_LIBC wint_t putwchar(wchar_t character) { return putwc(character, stdout); }
CORELACE_REPLACES_LIBC int getchar(void) { return getc(stdin); }
CORELACE_REPLACES_LIBC int getchar_unlocked(void) { return getc_unlocked(stdin); }
CORELACE_REPLACES_LIBC wint_t getwchar(void) { return getwc(stdin); }

CORELACE_REPLACES_LIBC void perror(const char *text) {
    char room[256];
    const char *why = strerror_r(errno, room, sizeof room);
    fprintf(stderr, text && *text ? "%s: %s\n" : "%s%s\n", text ? text : "", why);
}

/* <error.h>: libc's own would end the process. */
CORELACE_INTERNAL void corelace_error(int status, int error, const char *file, unsigned line, const char *format, va_list list) {
    char room[256];
    fflush(stdout);
    flockfile(stderr);
    const char *name = corelace_rank_start ? corelace_rank_start->argv[0] : program_invocation_name;
    fprintf(stderr, "%s:", name);
    if (file) {
        fprintf(stderr, "%s:%u: ", file, line);
    } else {
        putc(' ', stderr);
    }
    vfprintf(stderr, format, list);
    if (error) {
        fprintf(stderr, ": %s", strerror_r(error, room, sizeof room));
    }
    putc('\n', stderr);
    funlockfile(stderr);
    error_message_count++;
    if (status) {
        exit(status);
    }
}

CORELACE_REPLACES_LIBC void error(int status, int number, const char *format, ...) {
    va_list list;
    va_start(list, format);
    corelace_error(status, number, NULL, 0, format, list);
    va_end(list);
}

CORELACE_REPLACES_LIBC void error_at_line(int status, int number, const char *file, unsigned line, const char *format, ...) {
    va_list list;
    va_start(list, format);
    corelace_error(status, number, file, line, format, list);
    va_end(list);
}

/* <err.h>. The name of the program is the process's in libc; here it is the rank's own. */
static void complain(int with_error, const char *format, va_list list) {
    int error = errno;
    char room[256];
    flockfile(stderr);
    const char *name = corelace_rank_start ? corelace_rank_start->argv[0] : program_invocation_short_name;
    const char *slash = strrchr(name, '/');
    fprintf(stderr, "%s: ", slash ? slash + 1 : name);
    if (format) {
        vfprintf(stderr, format, list);
    }
    if (with_error) {
        fprintf(stderr, format ? ": %s" : "%s", strerror_r(error, room, sizeof room));
    }
    putc('\n', stderr);
    funlockfile(stderr);
}

CORELACE_REPLACES_LIBC void vwarn(const char *format, va_list list) { complain(1, format, list); }
CORELACE_REPLACES_LIBC void vwarnx(const char *format, va_list list) { complain(0, format, list); }

CORELACE_REPLACES_LIBC void verr(int status, const char *format, va_list list) {
    complain(1, format, list);
    exit(status);
}

CORELACE_REPLACES_LIBC void verrx(int status, const char *format, va_list list) {
    complain(0, format, list);
    exit(status);
}

CORELACE_REPLACES_LIBC void warn(const char *format, ...) {
    va_list list;
    va_start(list, format);
    complain(1, format, list);
    va_end(list);
}

CORELACE_REPLACES_LIBC void warnx(const char *format, ...) {
    va_list list;
    va_start(list, format);
    complain(0, format, list);
    va_end(list);
}

CORELACE_REPLACES_LIBC void err(int status, const char *format, ...) {
    va_list list;
    va_start(list, format);
    complain(1, format, list);
    va_end(list);
    exit(status);
}

CORELACE_REPLACES_LIBC void errx(int status, const char *format, ...) {
    va_list list;
    va_start(list, format);
    complain(0, format, list);
    va_end(list);
    exit(status);
}
