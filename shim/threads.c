/*
 * Threads that a hosted rank makes, and pthread_exit of its main: the rank then ends, with status 0, once those threads have
 * ended, as a process does. They are counted for that purpose. Threads that libraries make for it (std::thread of a C++ program
 * among them) are not: libraries call libc's own function.
 */
#define _GNU_SOURCE
#include "corelace_program.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

struct task {
    void *(*function)(void *);
    void *argument;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t fewer = PTHREAD_COND_INITIALIZER;
static size_t running;

static void count(size_t more) {
    pthread_mutex_lock(&lock);
    running += more;
    pthread_cond_broadcast(&fewer);
    pthread_mutex_unlock(&lock);
}

static void ended(void *unused) {
    (void)unused;
    count((size_t)-1);
}

static void *work(void *argument) {
    struct task task = *(struct task *)argument;
    LIBC(free)(argument);
    void *result;
    pthread_cleanup_push(ended, NULL); /* also if it ends by pthread_exit or is cancelled */
    result = task.function(task.argument);
    pthread_cleanup_pop(1);
    return result;
}

CORELACE_REPLACES_LIBC int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *),
                                          void *argument) {
    if (!corelace_rank_start) {
        return LIBC(pthread_create)(thread, attributes, function, argument);
    }
    struct task *task = LIBC(malloc)(sizeof *task); /* not the rank's: another thread gives it back */
    if (!task) {
        return EAGAIN;
    }
    *task = (struct task){function, argument};
    count(1);
    int failed = LIBC(pthread_create)(thread, attributes, work, task);
    if (failed) {
        count((size_t)-1);
        LIBC(free)(task);
    }
    return failed;
}

CORELACE_REPLACES_LIBC void pthread_exit(void *value) {
    if (!corelace_rank_start || !corelace_on_rank_thread()) {
        LIBC(pthread_exit)(value);
    }
    /* In a child that the rank has forked, the others do not exist. */
    if (!corelace_in_child()) {
        pthread_mutex_lock(&lock);
        while (running) {
            pthread_cond_wait(&fewer, &lock);
        }
        pthread_mutex_unlock(&lock);
    }
    exit(0);
}
