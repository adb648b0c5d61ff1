/*
 * Descriptors 0, 1 and 2. They belong to the whole process; a program that names them means its own streams, and so every call
 * that takes a descriptor is told which one that is. In an ordinary process, and in a child that a rank has forked, they are
 * what they are.
 */
#define _GNU_SOURCE
#include "corelace_program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/uio.h>
#include <unistd.h>

int corelace_own(int fd) {
    const struct corelace_start *start = corelace_rank_start;
    if (start && fd >= STDIN_FILENO && fd <= STDERR_FILENO && !corelace_forked) {
        int mine = fd == STDIN_FILENO ? fileno(stdin) : fd == STDOUT_FILENO ? start->stdout_fd : start->stderr_fd;
        return mine >= 0 ? mine : fd;
    }
    return fd;
}

CORELACE_REPLACES_LIBC ssize_t write(int fd, const void *bytes, size_t count) {
    return LIBC(write)(corelace_own(fd), bytes, count);
}

CORELACE_REPLACES_LIBC ssize_t read(int fd, void *bytes, size_t count) {
    return LIBC(read)(corelace_own(fd), bytes, count);
}

CORELACE_REPLACES_LIBC ssize_t writev(int fd, const struct iovec *pieces, int count) {
    return LIBC(writev)(corelace_own(fd), pieces, count);
}

CORELACE_REPLACES_LIBC ssize_t readv(int fd, const struct iovec *pieces, int count) {
    return LIBC(readv)(corelace_own(fd), pieces, count);
}

CORELACE_REPLACES_LIBC int vdprintf(int fd, const char *format, va_list list) {
    return LIBC(vdprintf)(corelace_own(fd), format, list);
}

CORELACE_REPLACES_LIBC int dprintf(int fd, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int done = LIBC(vdprintf)(corelace_own(fd), format, list);
    va_end(list);
    return done;
}

CORELACE_REPLACES_LIBC int isatty(int fd) { return LIBC(isatty)(corelace_own(fd)); }
CORELACE_REPLACES_LIBC int fsync(int fd) { return LIBC(fsync)(corelace_own(fd)); }
CORELACE_REPLACES_LIBC int dup(int fd) { return LIBC(dup)(corelace_own(fd)); }

/* The number is the caller's, also where the descriptor is another. */
CORELACE_REPLACES_LIBC int dup2(int from, int to) {
    return LIBC(dup2)(corelace_own(from), corelace_own(to)) < 0 ? -1 : to;
}

CORELACE_REPLACES_LIBC int dup3(int from, int to, int flags) {
    return LIBC(dup3)(corelace_own(from), corelace_own(to), flags) < 0 ? -1 : to;
}

/* A closed stream is one to nowhere: its number must not become another rank's file. */
CORELACE_REPLACES_LIBC int close(int fd) {
    int mine = corelace_own(fd);
    if (mine == fd) {
        return LIBC(close)(fd);
    }
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    int done = nowhere < 0 ? -1 : LIBC(dup2)(nowhere, mine);
    if (nowhere >= 0) {
        LIBC(close)(nowhere);
    }
    return done < 0 ? -1 : 0;
}

CORELACE_REPLACES_LIBC FILE *fdopen(int fd, const char *mode) { return LIBC(fdopen)(corelace_own(fd), mode); }

/* Their last argument is a number or an address, which travel alike. */
#define CONTROLS(name, command_type)                                     \
    CORELACE_REPLACES_LIBC int name(int fd, command_type command, ...) { \
        va_list list;                                                    \
        va_start(list, command);                                         \
        void *argument = va_arg(list, void *);                           \
        va_end(list);                                                    \
        return LIBC(name)(corelace_own(fd), command, argument);          \
    }

CONTROLS(fcntl, int)
CONTROLS(ioctl, unsigned long)
#ifndef fcntl64
CONTROLS(fcntl64, int)
#endif

CORELACE_REPLACES_LIBC int poll(struct pollfd *fds, nfds_t count, int timeout) {
    if (!corelace_rank_start || corelace_forked) {
        return LIBC(poll)(fds, count, timeout);
    }
    struct pollfd *mine = malloc((count ? count : 1) * sizeof *mine);
    if (!mine) {
        errno = ENOMEM;
        return -1;
    }
    for (nfds_t at = 0; at < count; at++) {
        mine[at] = fds[at];
        mine[at].fd = corelace_own(fds[at].fd);
    }
    int ready = LIBC(poll)(mine, count, timeout);
    int error = errno;
    for (nfds_t at = 0; at < count; at++) {
        fds[at].revents = mine[at].revents;
    }
    free(mine);
    errno = error;
    return ready;
}

/* Moves what is said of `from` to `to`. */
static void move(fd_set *set, int from, int to) {
    if (set && FD_ISSET(from, set)) {
        FD_CLR(from, set);
        FD_SET(to, set);
    }
}

CORELACE_REPLACES_LIBC int select(int count, fd_set *in, fd_set *out, fd_set *odd, struct timeval *timeout) {
    fd_set *sets[] = {in, out, odd};
    int mine[3], named = count < 3 ? count : 3;
    for (int fd = 0; fd < named; fd++) {
        mine[fd] = corelace_own(fd);
        int asked = 0;
        for (int set = 0; set < 3; set++) {
            asked |= sets[set] && FD_ISSET(fd, sets[set]);
        }
        if (!asked || mine[fd] >= FD_SETSIZE) {
            mine[fd] = fd; /* not asked about, or beyond what select can express */
        }
        for (int set = 0; set < 3; set++) {
            move(sets[set], fd, mine[fd]);
        }
        count = mine[fd] >= count ? mine[fd] + 1 : count;
    }
    int ready = LIBC(select)(count, in, out, odd, timeout);
    for (int fd = 0; fd < named && ready >= 0; fd++) {
        for (int set = 0; set < 3; set++) {
            move(sets[set], mine[fd], fd);
        }
    }
    return ready;
}
