/* Names of files that come from a gateway, which are not to be trusted. */
#ifndef TRAINYARD_CLI_FILE_PATH_H
#define TRAINYARD_CLI_FILE_PATH_H

#include "cli.h"

/* The path below the job's output that a link of the gateway names
 * ("/v1/jobs/ID/artifacts/a%20b/c"), decoded byte for byte. False when it is no such link, or when
 * the path would leave a folder: absolute, with an empty or dot segment, or a NUL. */
bool cli_path_of_link(const char *link, char *out, size_t size);

#endif
