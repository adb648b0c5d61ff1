/*
 * getopt, getopt_long and getopt_long_only with the rank's own optarg, optind, opterr and optopt.
 *
 * In an ordinary process libc's functions do the work and the four variables are copied to and from libc's. A hosted rank
 * cannot use them, because libc keeps its place in a hidden static; the code below follows the manual page getopt(3),
 * permutation of arguments included.
 */
#define _GNU_SOURCE
#include "corelace_program.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

CORELACE_REPLACES_LIBC char *optarg;
CORELACE_REPLACES_LIBC int optind = 1;
CORELACE_REPLACES_LIBC int opterr = 1;
CORELACE_REPLACES_LIBC int optopt = '?';

static char *next;              /* the rest of a cluster of short options, such as "bc" of "-abc" */
static int first_kept, end_kept; /* the operands passed over so far: argv[first_kept .. end_kept) */

enum order { PERMUTE, STOP_AT_OPERAND, RETURN_IN_ORDER };

/* Moves the options in argv[end_kept .. optind) in front of the operands passed over. */
static void exchange(char **argv) {
    int options = optind - end_kept;
    for (int moved = 0; moved < options; moved++) {
        char *option = argv[end_kept + moved];
        memmove(&argv[first_kept + moved + 1], &argv[first_kept + moved],
                (size_t)(end_kept - first_kept) * sizeof *argv);
        argv[first_kept + moved] = option;
    }
    first_kept += options;
    end_kept = optind;
}

static int complain(char **argv, const char *options, const char *what, const char *name, int result) {
    if (opterr && *options != ':') {
        fprintf(stderr, "%s: %s -- '%s'\n", argv[0], what, name);
    }
    return result;
}

static int long_option(int argc, char **argv, const char *options, const struct option *table, int *index, int dashes) {
    const char *name = next;
    size_t length = strcspn(name, "=");
    const struct option *found = NULL;
    int exact = 0, ambiguous = 0;
    for (const struct option *entry = table; entry->name && !exact; entry++) {
        if (strncmp(entry->name, name, length) == 0) {
            if (strlen(entry->name) == length) {
                found = entry;
                exact = 1;
            } else if (!found) {
                found = entry;
            } else if (found->has_arg != entry->has_arg || found->flag != entry->flag || found->val != entry->val) {
                ambiguous = 1;
            }
        }
    }
    if (!found && dashes == 1 && strchr(options, *name)) {
        return -1; /* getopt_long_only: it is a cluster of short options after all */
    }
    next = NULL;
    optind++;
    optopt = 0;
    if ((ambiguous && !exact) || !found) {
        return complain(argv, options, found ? "option is ambiguous" : "unrecognized option", name, '?');
    }
    optopt = found->val;
    if (name[length] == '=') {
        if (found->has_arg == no_argument) {
            return complain(argv, options, "option doesn't allow an argument", found->name, '?');
        }
        optarg = (char *)name + length + 1;
    } else if (found->has_arg == required_argument) {
        if (optind >= argc) {
            return complain(argv, options, "option requires an argument", found->name, *options == ':' ? ':' : '?');
        }
        optarg = argv[optind++];
    }
    if (index) {
        *index = (int)(found - table);
    }
    if (found->flag) {
        *found->flag = found->val;
        return 0;
    }
    return found->val;
}

static int short_option(int argc, char **argv, const char *options) {
    char name[2] = {*next++, 0};
    const char *found = name[0] == ':' || name[0] == ';' ? NULL : strchr(options, name[0]);
    if (!*next) {
        optind++;
    }
    if (!found) {
        optopt = name[0];
        return complain(argv, options, "invalid option", name, '?');
    }
    if (found[1] != ':') {
        return name[0];
    }
    if (*next) {
        optarg = next;
        optind++;
    } else if (found[2] != ':') {
        if (optind >= argc) {
            next = NULL;
            optopt = name[0];
            return complain(argv, options, "option requires an argument", name, *options == ':' ? ':' : '?');
        }
        optarg = argv[optind++];
    }
    next = NULL;
    return name[0];
}

static int hosted(int argc, char **argv, const char *options, const struct option *table, int *index, int only) {
    enum order order = PERMUTE;
    if (*options == '+' || *options == '-') {
        order = *options++ == '+' ? STOP_AT_OPERAND : RETURN_IN_ORDER;
    } else if (getenv("POSIXLY_CORRECT")) {
        order = STOP_AT_OPERAND;
    }
    optarg = NULL;
    if (argc < 1) {
        return -1;
    }
    if (optind == 0 || first_kept == 0) { /* a fresh scan, or one that the program restarts */
        first_kept = end_kept = optind = optind ? optind : 1;
        next = NULL;
    }
    if (!next || !*next) {
        if (end_kept > optind || first_kept > optind) {
            first_kept = end_kept = optind; /* the program set optind back */
        }
        if (order == PERMUTE) {
            if (first_kept != end_kept && end_kept != optind) {
                exchange(argv);
            } else if (end_kept != optind) {
                first_kept = optind;
            }
            while (optind < argc && (argv[optind][0] != '-' || !argv[optind][1])) {
                optind++;
            }
            end_kept = optind;
        }
        if (optind < argc && strcmp(argv[optind], "--") == 0) {
            optind++;
            if (first_kept != end_kept && end_kept != optind) {
                exchange(argv);
            } else if (first_kept == end_kept) {
                first_kept = optind;
            }
            end_kept = optind = argc;
        }
        if (optind >= argc) {
            if (first_kept != end_kept) {
                optind = first_kept;
            }
            return -1;
        }
        if (argv[optind][0] != '-' || !argv[optind][1]) {
            if (order == STOP_AT_OPERAND) {
                return -1;
            }
            optarg = argv[optind++];
            return 1;
        }
        int dashes = argv[optind][1] == '-' ? 2 : 1;
        next = argv[optind] + dashes;
        if (table && (dashes == 2 || (only && (argv[optind][2] || !strchr(options, argv[optind][1]))))) {
            int result = long_option(argc, argv, options, table, index, dashes);
            if (result != -1) {
                return result;
            }
        }
        next = argv[optind] + 1;
    }
    return short_option(argc, argv, options);
}

/* libc's variables, which this archive's definitions hide from the program. */
static void copy(int in) {
    static char **argument;
    static int *index, *error, *option;
    if (!argument) {
        argument = corelace_libc("optarg");
        index = corelace_libc("optind");
        error = corelace_libc("opterr");
        option = corelace_libc("optopt");
    }
    if (in) {
        *index = optind, *error = opterr, *option = optopt;
    } else {
        optarg = *argument, optind = *index, optopt = *option;
    }
}

#define LIBC_GETOPT(call)      \
    (__extension__({           \
        copy(1);               \
        int result_ = call;    \
        copy(0);               \
        result_;               \
    }))

CORELACE_REPLACES_LIBC int getopt(int argc, char *const *argv, const char *options) {
    return corelace_is_hosted() ? hosted(argc, (char **)argv, options, NULL, NULL, 0)
                                : LIBC_GETOPT(LIBC(getopt)(argc, argv, options));
}

CORELACE_REPLACES_LIBC int getopt_long(int argc, char *const *argv, const char *options, const struct option *table,
                                       int *index) {
    return corelace_is_hosted() ? hosted(argc, (char **)argv, options, table, index, 0)
                                : LIBC_GETOPT(LIBC(getopt_long)(argc, argv, options, table, index));
}

CORELACE_REPLACES_LIBC int getopt_long_only(int argc, char *const *argv, const char *options,
                                            const struct option *table, int *index) {
    return corelace_is_hosted() ? hosted(argc, (char **)argv, options, table, index, 1)
                                : LIBC_GETOPT(LIBC(getopt_long_only)(argc, argv, options, table, index));
}
