/* trainyardd: choose the subcommand. */
#include "app/commands.h"
#include "app/config.h"

#include "trainyard/base/str.h"

#include <jansson.h>
#include <signal.h>
#include <stdio.h>

static const struct {
    const char *name;
    command *run;
    const char *help;
} commands[] = {
    {"serve",    command_serve,    "run the gateway (the default)"                  },
    {"config",   command_config,   "print or check the configuration; list its keys"},
    {"contract", command_contract, "print the OpenAPI document"                     },
};
enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

static int help(void)
{
    struct ty_buf keys;
    ty_buf_init(&keys, 1024 * 1024);
    ty_config_help(&keys);
    printf("usage: trainyardd [COMMAND] [FLAGS]\n\nTrainyard, a REST gateway for training as a "
           "service.\n\ncommands:\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        printf("  %-30s %s\n", commands[i].name, commands[i].help);
    printf("\nflags, each also TRAINYARD_NAME in the environment and a key of the file that "
           "--config names:\n%s",
           keys.data ? keys.data : "");
    ty_buf_done(&keys);
    return 0;
}

int main(int argc, char **argv)
{
    /* A client that leaves must not end the process, and JSON objects are hashed with a seed of
     * their own. */
    signal(SIGPIPE, SIG_IGN);
    json_object_seed(0);
    const char *name = argc > 1 ? argv[1] : "serve";
    if (ty_str_equal(name, "--help") || ty_str_equal(name, "-h") || ty_str_equal(name, "help"))
        return help();
    if (ty_str_equal(name, "--version") || ty_str_equal(name, "version")) {
        printf("trainyardd %s\n", TRAINYARD_VERSION);
        return 0;
    }
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (ty_str_equal(commands[i].name, name))
            return commands[i].run(argc > 2 ? argc - 2 : 0, argv + 2);
    if (name[0] == '-')
        return command_serve(argc - 1, argv + 1);
    fprintf(stderr, "trainyardd: unknown command %s (see trainyardd --help)\n", name);
    return 2;
}
