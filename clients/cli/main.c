/* The client: find the command, take its words apart, find the gateway, run. */
#include "cli.h"

#include <curl/curl.h>
#include <stdio.h>

static bool is_set(const char *name)
{
    const char *value = getenv(name);
    return value && value[0] != '\0';
}

/* no-color.org and bixense.com/clicolors: --no-color, NO_COLOR, CLICOLOR_FORCE, then the terminal.
 */
static bool wants_color(const struct cli *cli, bool terminal)
{
    const char *kind = getenv("TERM");
    const char *force = getenv("CLICOLOR_FORCE");
    if (cli_has(cli, "no-color") || is_set("NO_COLOR"))
        return false;
    if (force && force[0] != '\0' && !ty_str_equal(force, "0"))
        return true;
    return terminal && kind && !ty_str_equal(kind, "dumb");
}

static output_format read_format(const char *text)
{
    static const char *const names[] = {"table", "wide", "json", "yaml", "name"};
    for (size_t i = 0; text && i < sizeof names / sizeof names[0]; i++)
        if (ty_str_equal(text, names[i]))
            return (output_format)i;
    return FORMAT_TABLE;
}

static void set_up(struct cli *cli)
{
    cli->format = read_format(cli_value(cli, "output"));
    cli->terminal = isatty(STDOUT_FILENO) == 1;
    cli->progress = isatty(STDERR_FILENO) == 1;
    cli->hasty = is_set("TRAINYARD_COMPLETING");
    cli->color = wants_color(cli, cli->terminal);
    cli->error_color = wants_color(cli, cli->progress);
}

/* libcurl starts only when a call will be made: help and completion are quicker without. */
static int run_with_gateway(struct cli *cli)
{
    int code = cli_find(cli);
    if (code != EXIT_DONE)
        return code;
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        cli_say("libcurl does not start");
        return EXIT_JOB_FAILED;
    }
    code = cli->command->run(cli);
    curl_global_cleanup();
    return code;
}

/* The command that the words name, going down into its children; NULL after a message. */
static const struct cli_command *choose(int *argc, char **argv)
{
    const char *word = cli_pick_word(argc, argv);
    const struct cli_command *command = word ? cli_find_command(cli_commands, word) : NULL;
    if (!command) {
        cli_say("no command %s (see trainyard help)", word ? word : "was given");
        return NULL;
    }
    if (!command->children)
        return command;
    word = cli_pick_word(argc, argv);
    if (!word)
        return command;
    const struct cli_command *child = cli_find_command(command->children, word);
    if (!child)
        cli_say("no command %s %s (see trainyard help %s)", command->name, word, command->name);
    return child;
}

static int run(struct cli *cli, int argc, char **argv)
{
    cli->command = choose(&argc, argv);
    if (!cli->command)
        return EXIT_USAGE;
    int code = cli_parse(cli->command, argc, argv, &cli->arguments);
    if (code != EXIT_DONE)
        return code;
    set_up(cli);
    if (cli_has(cli, "help")) {
        cli_print_help(cli->command);
        return EXIT_DONE;
    }
    if (cli->command->children) /* `trainyard volumes` lists them */
        cli->command = cli->command->children[0];
    return cli->command->local ? cli->command->run(cli) : run_with_gateway(cli);
}

int main(int argc, char **argv)
{
    static char help[] = "help";
    static char version[] = "version";
    struct cli cli = {0};
    if (argc < 2) {
        cli_print_overview();
        return EXIT_USAGE;
    }
    if (ty_str_equal(argv[1], "--help") || ty_str_equal(argv[1], "-h"))
        argv[1] = help;
    else if (ty_str_equal(argv[1], "--version"))
        argv[1] = version;
    int code = run(&cli, argc - 1, argv + 1);
    cli_done(&cli);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        cli_say("the output cannot be written");
        return code == EXIT_DONE ? EXIT_JOB_FAILED : code;
    }
    return code;
}
