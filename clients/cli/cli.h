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

/* Told by `trainyard help exit-codes`; never renumbered. */
enum {
    EXIT_DONE = 0,       /* or the job succeeded */
    EXIT_JOB_FAILED = 1, /* the job awaited failed; also a failure of the client itself */
    EXIT_USAGE = 2,      /* wrong arguments */
    EXIT_JOB_CANCELLED = 3,
    EXIT_AUTH = 4, /* no token, a bad one, or a missing scope */
    EXIT_NOT_FOUND = 5,
    EXIT_REFUSED = 6,     /* the gateway said no: invalid, or not in this state */
    EXIT_UNAVAILABLE = 7, /* it cannot be reached, or takes no more now */
    EXIT_JOB_LOST = 8,
    EXIT_TIMEOUT = 9,      /* the time given to `wait` is over */
    EXIT_INTERRUPTED = 130 /* Ctrl-C while following; the job goes on */
};

typedef enum { FORMAT_TABLE, FORMAT_WIDE, FORMAT_JSON, FORMAT_YAML, FORMAT_NAME } output_format;

/* One option of a command. `value` NULL: a switch. */
struct cli_option {
    const char *name;  /* "replicas" for --replicas */
    char letter;       /* 'o' for -o, 0 for none */
    const char *value; /* what --help calls its value: "N" */
    const char *help;
    const char *choices; /* the only values, separated by blanks; NULL = free */
    bool many;           /* may be given several times */
};

enum { ARGUMENTS_MAX = 640, GIVEN_MAX = 1024 };

struct cli_given {
    const struct cli_option *option;
    const char *value; /* "" for a switch */
};

/* A command line taken apart. */
struct cli_arguments {
    const char *plain[ARGUMENTS_MAX];
    size_t plain_count;
    size_t rest; /* index of the first plain word after "--"; plain_count without */
    struct cli_given given[GIVEN_MAX];
    size_t given_count;
};

struct cli_command;

struct cli {
    char *url; /* "http://127.0.0.1:8080" */
    char *token;
    const char *tenant; /* NULL = the token's own */
    output_format format;
    bool color;       /* standard output is a terminal that wants it */
    bool error_color; /* so is standard error */
    bool terminal;    /* standard output is a terminal */
    bool progress;    /* standard error is a terminal */
    bool hasty;       /* for completion: one short try, silent */
    const struct cli_command *command;
    struct cli_arguments arguments;
};

/* What plain words of a command are, for completion. */
typedef enum { WORDS_NONE, WORDS_JOBS, WORDS_FILES, WORDS_VOLUMES, WORDS_COMMANDS } word_kind;

struct cli_command {
    const char *name;  /* "volumes create" below "volumes" */
    const char *usage; /* after the name: "JOB [flags]" */
    const char *help;  /* one line, without a full stop */
    const char *more;  /* what else its --help says, NULL = nothing */
    int (*run)(struct cli *cli);
    const struct cli_option *options; /* ends with a row without name; NULL = none */
    const struct cli_option *shared;  /* more of them, in common with another command */
    size_t least;                     /* plain arguments */
    size_t most;
    const struct cli_command *const
        *children;           /* ends with NULL; the first runs when none is named */
    const char *words_given; /* fixed first words, separated by blanks, or NULL */
    word_kind words;
    bool local; /* works without a gateway */
};

extern const struct cli_command *const cli_commands[]; /* ends with NULL */
extern const struct cli_option cli_global_options[];

/* --- arguments --- */
/* The command of that name among `commands`, or NULL. A child is found by its last word. */
const struct cli_command *cli_find_command(const struct cli_command *const *commands,
                                           const char *name);
const char *cli_last_word(const char *name);

/* Take the first plain word out of the words, which may stand behind global options; NULL when
 * there is none. */
const char *cli_pick_word(int *argc, char **argv);

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

/* Read a whole number within bounds from an option; *value stays as it is when absent. False after
 * a message when it is none. */
bool cli_number(const struct cli *cli, const char *name, int64_t min, int64_t max, int64_t *value);

/* The same for a duration in seconds: "90", "90s", "15m", "2h", "7d". */
bool cli_seconds(const struct cli *cli, const char *name, int64_t max, int64_t *value);
ty_status cli_read_seconds(const char *text, int64_t max, int64_t *value_out) TY_MUST_CHECK;

/* --- finding the gateway --- */
/* Fill url and token from flags, environment, or the data folder of this machine. EXIT_AUTH or
 * EXIT_UNAVAILABLE after a message. */
int cli_find(struct cli *cli);
void cli_done(struct cli *cli);

/* Whether an address ("http://127.0.0.1:8080", "localhost:1") is of this machine. */
bool cli_is_loopback(const char *address);

/* --- messages: to standard error --- */
void cli_say(const char *format, ...) TY_PRINTF(1, 2);
int cli_misuse(const char *format, ...) TY_PRINTF(1, 2); /* returns EXIT_USAGE */

/* --- help and completion --- */
void cli_print_help(const struct cli_command *command); /* of one command */
void cli_print_overview(void);
int cli_print_completion(const char *shell);

/* --- jobs --- */
/* The id that the word means: an id, the beginning of one, or a name (then the newest job of it).
 * EXIT_NOT_FOUND, EXIT_REFUSED (several) after a message. */
enum { JOB_ID = 40 };
int cli_find_job(const struct cli *cli, const char *word, char id_out[JOB_ID]);

/* The time range, in milliseconds, of ids that begin so; "job_" at its start may be missing. False
 * when no id does. */
bool cli_id_range(const char *beginning, int64_t *first_ms_out, int64_t *last_ms_out);

/* "/v1/jobs/ID" and `tail` appended to `out`. */
void cli_job_path(struct ty_buf *out, const char *id, const char *tail);

bool cli_job_terminal(const json_t *job);
int cli_job_result(const json_t *job); /* the exit code that a terminal job means */

/* A job (just made or changed) as the format wants it. */
int cli_print_job(const struct cli *cli, const json_t *job);

/* Print a job's changes of state on standard error and, when `replica` says whose, its log on
 * standard output, until the job ends. Returns what the job's end means. */
int cli_follow(struct cli *cli, const char *id, const char *replica);

/* Print a new job, and follow it if wanted. */
int cli_present_job(struct cli *cli, const json_t *job);

/* Warnings of an answer, to standard error. */
void cli_say_warnings(const json_t *answer);

#endif
