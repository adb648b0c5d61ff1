/*
 * Random numbers whose state is the rank's own: rand, random and the drand48 family.
 *
 * glibc has each of them in a form that takes its state as an argument, with the same sequence; a hosted rank uses those,
 * so that the numbers are the ones an ordinary process gets.
 */
#define _GNU_SOURCE
#include "corelace_program.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The size and seed of libc's own start state. */
static int32_t start_state[32];
static struct random_data additive;
static struct drand48_data linear;

/* With the lock held. */
static struct random_data *ready(void) {
    if (!additive.state) {
        initstate_r(1, (char *)start_state, sizeof start_state, &additive);
    }
    return &additive;
}

CORELACE_REPLACES_LIBC long random(void) {
    if (!corelace_is_hosted()) {
        return LIBC(random)();
    }
    int32_t number;
    pthread_mutex_lock(&lock);
    random_r(ready(), &number);
    pthread_mutex_unlock(&lock);
    return number;
}

CORELACE_REPLACES_LIBC void srandom(unsigned seed) {
    if (!corelace_is_hosted()) {
        LIBC(srandom)(seed);
        return;
    }
    pthread_mutex_lock(&lock);
    srandom_r(seed, ready());
    pthread_mutex_unlock(&lock);
}

CORELACE_REPLACES_LIBC int rand(void) { return corelace_is_hosted() ? (int)random() : LIBC(rand)(); }

CORELACE_REPLACES_LIBC void srand(unsigned seed) {
    if (corelace_is_hosted()) {
        srandom(seed);
    } else {
        LIBC(srand)(seed);
    }
}

CORELACE_REPLACES_LIBC char *initstate(unsigned seed, char *state, size_t bytes) {
    if (!corelace_is_hosted()) {
        return LIBC(initstate)(seed, state, bytes);
    }
    pthread_mutex_lock(&lock);
    char *old = (char *)ready()->state - sizeof(int32_t); /* the word before the state holds its kind */
    int failed = initstate_r(seed, state, bytes, &additive);
    pthread_mutex_unlock(&lock);
    return failed ? NULL : old;
}

CORELACE_REPLACES_LIBC char *setstate(char *state) {
    if (!corelace_is_hosted()) {
        return LIBC(setstate)(state);
    }
    pthread_mutex_lock(&lock);
    char *old = (char *)ready()->state - sizeof(int32_t);
    int failed = setstate_r(state, &additive);
    pthread_mutex_unlock(&lock);
    return failed ? NULL : old;
}

/* The 48-bit generators: `result name(parameters)` by `name_r(arguments, &linear, &number)`. */
#define LINEAR(result, name, parameters, arguments, reentrant)   \
    CORELACE_REPLACES_LIBC result name parameters {              \
        if (!corelace_is_hosted()) {                             \
            return LIBC(name) arguments;                         \
        }                                                        \
        result number;                                           \
        pthread_mutex_lock(&lock);                               \
        reentrant;                                               \
        pthread_mutex_unlock(&lock);                             \
        return number;                                           \
    }

LINEAR(double, drand48, (void), (), drand48_r(&linear, &number))
LINEAR(double, erand48, (unsigned short x[3]), (x), erand48_r(x, &linear, &number))
LINEAR(long, lrand48, (void), (), lrand48_r(&linear, &number))
LINEAR(long, nrand48, (unsigned short x[3]), (x), nrand48_r(x, &linear, &number))
LINEAR(long, mrand48, (void), (), mrand48_r(&linear, &number))
LINEAR(long, jrand48, (unsigned short x[3]), (x), jrand48_r(x, &linear, &number))

CORELACE_REPLACES_LIBC void srand48(long seed) {
    if (!corelace_is_hosted()) {
        LIBC(srand48)(seed);
        return;
    }
    pthread_mutex_lock(&lock);
    srand48_r(seed, &linear);
    pthread_mutex_unlock(&lock);
}

CORELACE_REPLACES_LIBC unsigned short *seed48(unsigned short seed[3]) {
    if (!corelace_is_hosted()) {
        return LIBC(seed48)(seed);
    }
    static unsigned short old[3];
    pthread_mutex_lock(&lock);
    memcpy(old, linear.__x, sizeof old);
    seed48_r(seed, &linear);
    pthread_mutex_unlock(&lock);
    return old;
}

CORELACE_REPLACES_LIBC void lcong48(unsigned short parameters[7]) {
    if (!corelace_is_hosted()) {
        LIBC(lcong48)(parameters);
        return;
    }
    pthread_mutex_lock(&lock);
    lcong48_r(parameters, &linear);
    pthread_mutex_unlock(&lock);
}
