/* What the client's files share: the invocation, its exit codes, and how a command is declared. */
#ifndef TRAINYARD_CLI_CLI_H
#define TRAINYARD_CLI_CLI_H

#include "trainyard/base/buf.h"
#include "trainyard/base/error.h"
#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Documented in `trainyard help exit-codes`; never renumbered. */
enum {
    EXIT_DONE = 0,       /* or the job succeeded */
    EXIT_JOB_FAILED = 1, /* the job awaited failed; also a failure of the client itself */
    EXIT_USAGE = 2,      /* wrong arguments */
    EXIT_JOB_CANCELLED = 3,
    EXIT_AUTH = 4, /* no token, a bad one, or a missing scope */
    EXIT_NOT_FOUND = 5,
    EXIT_REFUSED = 6,     /* the gateway said no: invalid, conflict, quota */
    EXIT_UNAVAILABLE = 7, /* it cannot be reached or cannot answer now */
    EXIT_JOB_LOST = 8
};

typedef enum { FORMAT_TABLE, FORMAT_WIDE, FORMAT_JSON, FORMAT_YAML, FORMAT_NAME } output_format;

/* One option of a command. `value` NULL: a switch. */
struct cli_option {
    const char *name;  /* "replicas" for --replicas */
    char letter;       /* 'o' for -o, 0 for none */
    const char *value; /* what --help calls its value: "N" */
    const char *help;
    bool many; /* may be given several times */
};

enum { ARGUMENTS_MAX = 64, GIVEN_MAX = 256 };

struct cli_given {
    const struct cli_option *option;
    const char *value; /* "" for a switch */
};

/* A command line taken apart. */
struct cli_arguments {
    const char *plain[ARGUMENTS_MAX];
    size_t plain_count;
    struct cli_given given[GIVEN_MAX];
    size_t given_count;
};

struct cli {
    char *url; /* "http://127.0.0.1:8080" */
    char *token;
    const char *tenant; /* NULL = the token's own */
    output_format format;
    bool color;    /* standard output is a terminal that wants it */
    bool progress; /* standard error is a terminal */
    struct cli_arguments arguments;
};

struct cli_command {
    const char *name;
    int (*run)(struct cli *cli);
    const char *usage; /* after the name: "JOB [flags]" */
    const char *help;
    const struct cli_option *options; /* ends with a row without name; NULL = none */
    size_t least;                     /* plain arguments */
    size_t most;
};

extern const struct cli_command cli_commands[];
extern const struct cli_option cli_global_options[];

/* --- arguments --- */
/* Take the words apart by the command's and the global options. EXIT_USAGE after a message, else 0.
 */
int cli_parse(const struct cli_command *command, int argc, char **argv, struct cli_arguments *out);

/* The value of an option, NULL when it was not given; the nth of several. */
const char *cli_value(const struct cli *cli, const char *name);
const char *cli_nth(const struct cli *cli, const char *name, size_t index);
static inline bool cli_has(const struct cli *cli, const char *name)
{
    return cli_value(cli, name) != NULL;
}

/* Read a whole number within bounds from an option; `fallback` when absent. False after a message
 * when it is none. */
bool cli_number(const struct cli *cli, const char *name, int64_t min, int64_t max, int64_t *value);

/* --- finding the gateway --- */
/* Fill url and token from flags, environment, or the data folder of this machine. EXIT_AUTH or
 * EXIT_UNAVAILABLE after a message. */
int cli_find(struct cli *cli);
void cli_done(struct cli *cli);

/* --- messages: to standard error --- */
void cli_say(const char *format, ...) TY_PRINTF(1, 2);
int cli_misuse(const char *format, ...) TY_PRINTF(1, 2); /* returns EXIT_USAGE */

/* --- output --- */
struct cli_column {
    const char *title;
    const char *member; /* of the item; "a.b" goes inside */
    bool wide;          /* only with -o wide */
};

/* Print one object or a page's items in the chosen format. `name` is the member that -o name
 * prints. */
int cli_print_list(const struct cli *cli, const json_t *items, const struct cli_column *columns,
                   const char *name);
int cli_print_object(const struct cli *cli, const json_t *object, const char *name);

/* A member as text for people: times without fractions, null as "-". The result lives until the
 * next call in `out`. */
const char *cli_text(const json_t *object, const char *member, char *out, size_t size);

#endif
