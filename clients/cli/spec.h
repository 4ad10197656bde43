/* Flags to a job's spec. */
#ifndef TRAINYARD_CLI_SPEC_H
#define TRAINYARD_CLI_SPEC_H

#include "cli.h"

/* Set the members that flags give. EXIT_USAGE after a message. */
int cli_spec_flags(const struct cli *cli, json_t *spec);

/* What a job's file held, for those who send it on as it is. */
struct cli_source {
    struct ty_buf text;
    bool manifest; /* a Kubernetes manifest: the spec is its import */
};
void cli_source_done(struct cli_source *source);

/* Set what runs: a script, a command, or a whole spec from a JSON or YAML file or a manifest. The
 * caller ends *source_out in any case. EXIT_REFUSED for a manifest that cannot be imported. */
int cli_spec_source(const struct cli *cli, json_t *spec, struct cli_source *source_out);

/* Whether any of the flags that change a spec was given. */
bool cli_spec_changed(const struct cli *cli);

/* The image of whoever names none. */
int cli_spec_image(json_t *spec);

/* A spec as JSON, or YAML with -o yaml. */
int cli_print_spec(const struct cli *cli, const json_t *spec);

/* A JSON or (by its name) YAML file that holds an object; "-" is JSON from standard input.
 * EXIT_USAGE or EXIT_JOB_FAILED after a message. */
int cli_read_object(const char *path, json_t **object_out);

/* Add --file: each lies beside the script, at its own path if it is below the script's folder. */
int cli_spec_files(const struct cli *cli, const char *script, json_t *spec);

/* A job's name made from a file's: "My_Net.py" gives "my-net". */
enum { NAME_TEXT = 44 };
void cli_name_from(const char *path, char out[NAME_TEXT]);

/* A parameter as JSON: a number or true and false when it reads back as the very same text, else a
 * string, so that the script always gets what was typed. NULL without memory or for text that is
 * not UTF-8. */
json_t *cli_parameter_value(const char *text);

/* The flags that make a spec, for the tables of submit and clone. */
extern const struct cli_option spec_options[];

#endif
