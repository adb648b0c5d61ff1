/*
 * Descriptors 0, 1 and 2. They belong to the whole process; a program that names them means its own streams, and so every call
 * that takes a descriptor is told which one that is. In an ordinary process, and in a child that a rank has forked, they are
 * what they are.
 */
#define _GNU_SOURCE
#include "corelace_program.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/uio.h>
#include <unistd.h>

/* Where the program has led 1 and 2, if its output goes into records and it has: a descriptor of the rank's own. */
static int led_to[] = {-1, -1, -1};

static int is_stream(int fd) {
    return corelace_rank_start && fd >= STDIN_FILENO && fd <= STDERR_FILENO && !corelace_forked;
}

/* What is recorded has no descriptor: calls that need one get the host's, whose output bears no rank. */
int corelace_own(int fd) {
    const struct corelace_start *start = corelace_rank_start;
    if (is_stream(fd)) {
        int of_records = start->records ? led_to[fd] : fd == STDOUT_FILENO ? start->stdout_fd : start->stderr_fd;
        int mine = fd == STDIN_FILENO ? fileno(stdin) : of_records;
        return mine >= 0 ? mine : fd;
    }
    return fd;
}

int corelace_is_recorded(int fd) {
    return is_stream(fd) && fd != STDIN_FILENO && corelace_rank_start->records && led_to[fd] < 0;
}

ssize_t corelace_write_records(int fd, const void *bytes, size_t count) {
    const struct corelace_start *start = corelace_rank_start;
    int pipe = fd == STDOUT_FILENO ? start->stdout_fd : start->stderr_fd;
    size_t done = 0;
    while (done < count) {
        size_t most = PIPE_BUF - sizeof(struct corelace_record), left = count - done;
        struct corelace_record head = {(uint32_t)start->rank, (uint32_t)(left < most ? left : most)};
        struct iovec pieces[] = {{&head, sizeof head}, {(char *)bytes + done, head.bytes}};
        if (LIBC(writev)(pipe, pieces, 2) >= 0) {
            done += head.bytes;
        } else if (errno != EINTR) {
            return done ? (ssize_t)done : -1;
        }
    }
    return (ssize_t)done;
}

/* Leads 1 or 2 of a rank whose output is recorded to a copy of `from`. */
static int lead(int to, int from) {
    int copy = LIBC(fcntl)(from, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (copy < 0) {
        return -1;
    }
    fflush(to == STDOUT_FILENO ? stdout : stderr);
    if (led_to[to] >= 0) {
        LIBC(close)(led_to[to]);
    }
    led_to[to] = copy;
    return to;
}

static int is_of_records(int fd) { return is_stream(fd) && fd != STDIN_FILENO && corelace_rank_start->records; }

CORELACE_REPLACES_LIBC ssize_t write(int fd, const void *bytes, size_t count) {
    return corelace_is_recorded(fd) ? corelace_write_records(fd, bytes, count) : LIBC(write)(corelace_own(fd), bytes, count);
}

CORELACE_REPLACES_LIBC ssize_t read(int fd, void *bytes, size_t count) {
    return LIBC(read)(corelace_own(fd), bytes, count);
}

CORELACE_REPLACES_LIBC ssize_t writev(int fd, const struct iovec *pieces, int count) {
    if (!corelace_is_recorded(fd)) {
        return LIBC(writev)(corelace_own(fd), pieces, count);
    }
    ssize_t done = 0;
    for (int at = 0; at < count; at++) {
        ssize_t written = corelace_write_records(fd, pieces[at].iov_base, pieces[at].iov_len);
        if (written < 0) {
            return done ? done : -1;
        }
        done += written;
    }
    return done;
}

CORELACE_REPLACES_LIBC ssize_t readv(int fd, const struct iovec *pieces, int count) {
    return LIBC(readv)(corelace_own(fd), pieces, count);
}

CORELACE_REPLACES_LIBC int vdprintf(int fd, const char *format, va_list list) {
    if (!corelace_is_recorded(fd)) {
        return LIBC(vdprintf)(corelace_own(fd), format, list);
    }
    char *text;
    int length = vasprintf(&text, format, list);
    if (length >= 0) {
        length = (int)corelace_write_records(fd, text, (size_t)length);
        LIBC(free)(text);
    }
    return length;
}

CORELACE_REPLACES_LIBC int dprintf(int fd, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int done = vdprintf(fd, format, list);
    va_end(list);
    return done;
}

CORELACE_REPLACES_LIBC int isatty(int fd) { return LIBC(isatty)(corelace_own(fd)); }
CORELACE_REPLACES_LIBC int fsync(int fd) { return LIBC(fsync)(corelace_own(fd)); }
CORELACE_REPLACES_LIBC int dup(int fd) { return LIBC(dup)(corelace_own(fd)); }

/* The number is the caller's, also where the descriptor is another. */
CORELACE_REPLACES_LIBC int dup2(int from, int to) {
    if (is_of_records(to)) {
        return from == to ? to : lead(to, corelace_own(from));
    }
    return LIBC(dup2)(corelace_own(from), corelace_own(to)) < 0 ? -1 : to;
}

CORELACE_REPLACES_LIBC int dup3(int from, int to, int flags) {
    if (is_of_records(to) && from != to) {
        return lead(to, corelace_own(from));
    }
    return LIBC(dup3)(corelace_own(from), corelace_own(to), flags) < 0 ? -1 : to;
}

/* A closed stream is one to nowhere: its number must not become another rank's file. */
CORELACE_REPLACES_LIBC int close(int fd) {
    int mine = corelace_own(fd), recorded = is_of_records(fd);
    if (mine == fd && !recorded) {
        return LIBC(close)(fd);
    }
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    int done = nowhere < 0 ? -1 : recorded ? lead(fd, nowhere) : LIBC(dup2)(nowhere, mine);
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
