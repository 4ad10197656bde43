/* Fetching one file so that a break anywhere costs nothing but time. */
#ifndef TRAINYARD_CLI_FETCH_H
#define TRAINYARD_CLI_FETCH_H

#include "cli.h"

/* Fetch `path` of the gateway (encoded) into the file `target`, "-" for standard output. Meanwhile
 * the bytes are in `target`.part, the ETag they belong to in `target`.part.etag; a later call goes
 * on there. The file appears under its name only when it is whole and its SHA-256 is right. A
 * target that holds these very bytes already is left as it is. `label` is what progress calls it.
 */
int cli_fetch(const struct cli *cli, const char *path, const char *target, const char *label);

#endif
