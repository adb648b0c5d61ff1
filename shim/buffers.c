/*
 * Functions that return or keep a static buffer: strtok and the calendar. Each rank gets its own buffer, by the form of
 * the function that takes one.
 */
#define _GNU_SOURCE
#include "corelace_program.h"

#include <string.h>
#include <time.h>

CORELACE_REPLACES_LIBC char *strtok(char *text, const char *delimiters) {
    static char *place;
    return corelace_is_hosted() ? strtok_r(text, delimiters, &place) : LIBC(strtok)(text, delimiters);
}

static struct tm calendar;
static char calendar_text[64];

CORELACE_REPLACES_LIBC struct tm *localtime(const time_t *time) {
    return corelace_is_hosted() ? localtime_r(time, &calendar) : LIBC(localtime)(time);
}

CORELACE_REPLACES_LIBC struct tm *gmtime(const time_t *time) {
    return corelace_is_hosted() ? gmtime_r(time, &calendar) : LIBC(gmtime)(time);
}

CORELACE_REPLACES_LIBC char *asctime(const struct tm *time) {
    return corelace_is_hosted() ? asctime_r(time, calendar_text) : LIBC(asctime)(time);
}

CORELACE_REPLACES_LIBC char *ctime(const time_t *time) {
    return corelace_is_hosted() ? ctime_r(time, calendar_text) : LIBC(ctime)(time);
}
