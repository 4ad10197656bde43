/* All commands in the order of the overview, and the options that each of them takes. */
#include "commands.h"

const struct cli_command *const cli_commands[] = {
    &command_submit,      &command_list,
    &command_get,         &command_logs,
    &command_events,      &command_wait,
    &command_cancel,      &command_suspend,
    &command_resume,      &command_scale,
    &command_restart,     &command_clone,
    &command_delete,      &command_artifacts,
    &command_checkpoints, &command_download,
    &command_volumes,     &command_tokens,
    &command_tenants,     &command_whoami,
    &command_render,      &command_import,
    &command_completion,  &command_help,
    &command_version,     NULL,
};

const struct cli_option cli_global_options[] = {
    {"address",    0,   "URL",    "the gateway, by default the one of this machine", NULL,                        false},
    {"token-file", 0,   "FILE",   "a file with the token",                           NULL,                        false},
    {"tenant",     0,   "NAME",   "act in this tenant (system administrators)",      NULL,                        false},
    {"data",       0,   "DIR",    "the data folder of a gateway of this machine",    NULL,                        false},
    {"output",     'o', "FORMAT", "table, wide, json, yaml or name",                 "table wide json yaml name",
     false                                                                                                             },
    {"no-color",   0,   NULL,     "no colours",                                      NULL,                        false},
    {"help",       'h', NULL,     "say how the command is used",                     NULL,                        false},
    {NULL,         0,   NULL,     NULL,                                              NULL,                        false},
};
