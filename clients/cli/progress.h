/* A line on the terminal that tells how far a download is. */
#ifndef TRAINYARD_CLI_PROGRESS_H
#define TRAINYARD_CLI_PROGRESS_H

#include "cli.h"

struct cli_progress {
    const char *label;
    bool shown;    /* standard error is a terminal */
    int64_t total; /* -1 = unknown */
    int64_t began_ms;
    int64_t began_at; /* bytes that were there at the beginning */
    int64_t told_ms;
    size_t width; /* of the last line */
};

void cli_progress_begin(struct cli_progress *progress, const struct cli *cli, const char *label,
                        int64_t have);
void cli_progress_tell(struct cli_progress *progress, int64_t have);
/* Take the line away, or leave "label  size" when it is `whole`. */
void cli_progress_end(struct cli_progress *progress, int64_t have, bool whole);

#endif
