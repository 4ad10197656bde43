/* help and version: texts made from the tables. */
#include "commands.h"

#include <stdio.h>

static void print_options(const struct cli_option *options)
{
    char left[64];
    for (const struct cli_option *option = options; option && option->name; option++) {
        char letter[8] = "    ";
        if (option->letter)
            snprintf(letter, sizeof letter, "-%c, ", option->letter);
        snprintf(left, sizeof left, "%s--%s%s%s", letter, option->name, option->value ? " " : "",
                 option->value ? option->value : "");
        printf("  %-28s %s%s\n", left, option->help, option->many ? " (repeatable)" : "");
    }
}

static void print_names(const struct cli_command *const *commands)
{
    for (; *commands; commands++)
        printf("  %-18s %s\n", (*commands)->name, (*commands)->help);
}

void cli_print_help(const struct cli_command *command)
{
    printf("trainyard %s %s\n  %s.\n", command->name, command->usage, command->help);
    if (command->more)
        printf("\n%s\n", command->more);
    if (command->children) {
        puts("\nCommands:");
        print_names(command->children);
    }
    if (command->options || command->shared) {
        puts("\nFlags:");
        print_options(command->shared);
        print_options(command->options);
    }
    puts("\nFlags of every command:");
    print_options(cli_global_options);
}

void cli_print_overview(void)
{
    puts("trainyard: train models on a Trainyard gateway\n\n"
         "Usage: trainyard COMMAND [arguments] [flags]\n\nCommands:");
    print_names(cli_commands);
    puts("\nFlags of every command:");
    print_options(cli_global_options);
    puts("\nEnvironment:\n"
         "  TRAINYARD_ADDRESS, TRAINYARD_TOKEN, TRAINYARD_TOKEN_FILE, TRAINYARD_TENANT,\n"
         "  TRAINYARD_DATA       as the flags; a flag goes first\n"
         "  TRAINYARD_IMAGE      the image of `submit` without --image\n"
         "  NO_COLOR, CLICOLOR_FORCE\n\n"
         "JOB is an id, the beginning of one, or a name (the newest job of that name).\n"
         "More: trainyard help COMMAND, trainyard help exit-codes");
}

static void print_exit_codes(void)
{
    static const struct {
        int code;
        const char *meaning;
    } codes[] = {
        {EXIT_DONE,          "done; for wait and a followed submit: the job succeeded"          },
        {EXIT_JOB_FAILED,    "the job failed; or the client itself did (no memory, a full disk)"},
        {EXIT_USAGE,         "wrong arguments"                                                  },
        {EXIT_JOB_CANCELLED, "the job was cancelled"                                            },
        {EXIT_AUTH,          "no token, a bad one, or one that lacks a scope"                   },
        {EXIT_NOT_FOUND,     "there is no such object"                                          },
        {EXIT_REFUSED,       "the gateway refused: not valid, or not in this state"             },
        {EXIT_UNAVAILABLE,   "the gateway cannot be reached, or takes no more now"              },
        {EXIT_JOB_LOST,      "the job was lost: its end was not seen"                           },
        {EXIT_TIMEOUT,       "the time of wait --timeout is over"                               },
        {EXIT_INTERRUPTED,   "interrupted while following; the job goes on"                     },
    };
    puts("Exit codes:");
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        printf("  %3d  %s\n", codes[i].code, codes[i].meaning);
}

static int run_help(struct cli *cli)
{
    const struct cli_arguments *arguments = &cli->arguments;
    const struct cli_command *const *commands = cli_commands;
    const struct cli_command *command = NULL;
    if (arguments->plain_count == 1 && ty_str_equal(arguments->plain[0], "exit-codes")) {
        print_exit_codes();
        return EXIT_DONE;
    }
    for (size_t i = 0; i < arguments->plain_count; i++) {
        command = commands ? cli_find_command(commands, arguments->plain[i]) : NULL;
        if (!command)
            return cli_misuse("no command %s (see trainyard help)", arguments->plain[i]);
        commands = command->children;
    }
    if (command)
        cli_print_help(command);
    else
        cli_print_overview();
    return EXIT_DONE;
}

static int run_version(struct cli *cli)
{
    (void)cli;
    puts("trainyard " TRAINYARD_VERSION);
    return EXIT_DONE;
}

const struct cli_command command_help = {
    .name = "help",
    .usage = "[COMMAND | exit-codes]",
    .help = "Explain a command, or the exit codes",
    .run = run_help,
    .most = 2,
    .words_given = "exit-codes",
    .words = WORDS_COMMANDS,
    .local = true,
};

const struct cli_command command_version = {
    .name = "version",
    .usage = "",
    .help = "Print the client's version",
    .run = run_version,
    .local = true,
};
