/* The daemon's subcommands: one thin file each. */
#ifndef TRAINYARD_APP_COMMANDS_H
#define TRAINYARD_APP_COMMANDS_H

/* Each gets the arguments after its name and returns the process's exit status: 0 done, 1 failed, 2
 * misused. */
typedef int command(int argc, char **argv);

command command_serve, command_config, command_contract;

#endif
