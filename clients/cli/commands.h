/* The commands, one a file or a small family. */
#ifndef TRAINYARD_CLI_COMMANDS_H
#define TRAINYARD_CLI_COMMANDS_H

#include "cli.h"

extern const struct cli_command command_submit, command_clone, command_list, command_get,
    command_logs, command_events, command_wait;
extern const struct cli_command command_cancel, command_suspend, command_resume, command_scale,
    command_restart, command_delete;
extern const struct cli_command command_artifacts, command_checkpoints, command_download;
extern const struct cli_command command_volumes, command_tokens, command_tenants, command_whoami;
extern const struct cli_command command_render, command_import, command_completion, command_help,
    command_version;

#endif
