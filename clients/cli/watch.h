/* Watching one job's record by long polls, through breaks of the connection and restarts of the
 * gateway. */
#ifndef TRAINYARD_CLI_WATCH_H
#define TRAINYARD_CLI_WATCH_H

#include "patience.h"

struct cli_watch {
    const struct cli *cli;
    char id[JOB_ID];
    char etag[128];
    json_t *job; /* as last seen, NULL before */
    struct cli_patience patience;
};

void cli_watch_init(struct cli_watch *watch, const struct cli *cli, const char *id);
void cli_watch_done(struct cli_watch *watch);

/* Wait at most `seconds` (0..60) for the record to differ from what was seen; the first call reads
 * it at once. *changed_out tells whether it does. A gateway that does not answer for a while is no
 * failure; the call then sleeps a little. */
int cli_watch_next(struct cli_watch *watch, int64_t seconds, bool *changed_out);

#endif
