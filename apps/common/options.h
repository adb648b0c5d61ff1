/* Options of a program: a table says what there is, one function reads the command line or says what is wrong with it.
 *
 * Every rank reads the same words, so every rank comes to the same conclusion; only rank 0 speaks.               */
#ifndef APPS_OPTIONS_H
#define APPS_OPTIONS_H

#include <errno.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum {
    OPTION_FLAG,     /* bool, no value on the command line */
    OPTION_COUNT,    /* int, zero or more */
    OPTION_POSITIVE, /* int, one or more */
    OPTION_SEED,     /* uint64_t */
    OPTION_FRACTION, /* double above zero */
    OPTION_CHOICE,   /* int, the index of the word in `words` */
    OPTION_TEXT,     /* const char *, which the program reads itself */
} OptionKind;

typedef struct {
    const char *name; /* with its dashes */
    OptionKind kind;
    void *value; /* holds the default before */
    const char *help;
    const char *words; /* of a choice: "send|isend" */
    int most;          /* of a whole number; 0 means no limit */
} Option;

/* What to do after the command line was read: go on, or end with a status. */
typedef struct {
    bool ends;
    int status;
} OptionsRead;

/* The place of `word` among words separated by bars, or -1. */
static inline int option_choice(const char *words, const char *word)
{
    size_t length = strlen(word);
    int index = 0;
    for (const char *at = words; at != NULL; index++) {
        const char *bar = strchr(at, '|');
        size_t this_one = bar != NULL ? (size_t)(bar - at) : strlen(at);
        if (this_one == length && memcmp(at, word, length) == 0) return index;
        at = bar != NULL ? bar + 1 : NULL;
    }
    return -1;
}

/* Stores the value of an option; returns what was expected instead, or NULL if all is well. */
static inline const char *option_set(const Option *option, const char *word)
{
    char *end;
    errno = 0;
    switch (option->kind) {
    case OPTION_FLAG: *(bool *)option->value = true; return NULL;
    case OPTION_TEXT: *(const char **)option->value = word; return NULL;
    case OPTION_CHOICE: {
        int index = option_choice(option->words, word);
        if (index < 0) return option->words;
        *(int *)option->value = index;
        return NULL;
    }
    case OPTION_COUNT:
    case OPTION_POSITIVE: {
        long least = option->kind == OPTION_POSITIVE, number = strtol(word, &end, 10);
        if (errno != 0 || end == word || *end != '\0' || number < least || number > INT32_MAX)
            return least == 1 ? "a whole number, 1 or more" : "a whole number, 0 or more";
        if (option->most != 0 && number > option->most) return "a smaller number";
        *(int *)option->value = (int)number;
        return NULL;
    }
    case OPTION_SEED: {
        unsigned long long number = strtoull(word, &end, 0);
        if (errno != 0 || end == word || *end != '\0' || *word == '-') return "a whole number of at most 64 bits";
        *(uint64_t *)option->value = number;
        return NULL;
    }
    case OPTION_FRACTION: {
        double number = strtod(word, &end);
        if (errno != 0 || end == word || *end != '\0' || !(number > 0)) return "a number above zero";
        *(double *)option->value = number;
        return NULL;
    }
    }
    return "another kind of option";
}

static inline void options_help(const char *about, const Option *options, int count)
{
    printf("%s\n\n", about);
    for (int i = 0; i < count; i++)
        printf("  %-12s %s%s%s\n", options[i].name, options[i].help, options[i].kind == OPTION_CHOICE ? ": " : "",
               options[i].kind == OPTION_CHOICE ? options[i].words : "");
}

/* Reads the command line into the options' values. Between MPI_Init and MPI_Finalize, by every rank. */
static inline OptionsRead options_read(int argc, char **argv, const char *about, const Option *options, int count)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 1; i < argc; i++) {
        const Option *option = NULL;
        for (int o = 0; o < count; o++)
            if (strcmp(options[o].name, argv[i]) == 0) option = &options[o];
        if (strcmp(argv[i], "--help") == 0) {
            if (rank == 0) options_help(about, options, count);
            return (OptionsRead){.ends = true, .status = 0};
        }
        if (option == NULL) {
            if (rank == 0) fprintf(stderr, "%s: no option %s, see --help\n", argv[0], argv[i]);
            return (OptionsRead){.ends = true, .status = 2};
        }
        const char *value = "";
        if (option->kind != OPTION_FLAG && i + 1 < argc) value = argv[++i];
        const char *expected = option_set(option, value);
        if (expected != NULL) {
            if (rank == 0) fprintf(stderr, "%s: %s is '%s', expected %s\n", argv[0], option->name, value, expected);
            return (OptionsRead){.ends = true, .status = 2};
        }
    }
    return (OptionsRead){.ends = false};
}

/* A list such as "1,96,4096" as numbers; returns how many there are, or -1 if one is none or there are more than `room`. */
static inline int option_numbers(const char *text, int64_t *numbers, int room)
{
    int count = 0;
    for (const char *at = text;; at++) {
        char *end;
        errno = 0;
        long long number = strtoll(at, &end, 10);
        if (end == at || errno != 0 || number < 0 || count == room) return -1;
        numbers[count++] = number;
        if (*end == '\0') return count;
        if (*end != ',') return -1;
        at = end;
    }
}

#endif
