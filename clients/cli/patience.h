/* How long a reader that can go on where it was keeps trying: as long as any call (H27) before the
 * first answer, and PATIENCE_MS without any answer after it, so that it outlives a restart of the
 * gateway. */
#ifndef TRAINYARD_CLI_PATIENCE_H
#define TRAINYARD_CLI_PATIENCE_H

#include "cli.h"

enum { PATIENCE_MS = 300000 };

struct cli_patience {
    bool heard; /* there was an answer */
    bool told;  /* that the connection is lost */
    unsigned failures;
    int64_t heard_ms;
};

/* An answer came, or a part of one. */
void cli_patience_heard(struct cli_patience *patience);

/* None came: pause, at most `most_ms`, and true; or false after a message when it is enough. */
bool cli_patience_pause(struct cli_patience *patience, const struct cli *cli, int64_t retry_after,
                        int64_t most_ms);

#endif
