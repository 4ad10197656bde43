/* Reading a replica's log to its end, through breaks of the connection. */
#ifndef TRAINYARD_CLI_LOG_READER_H
#define TRAINYARD_CLI_LOG_READER_H

#include "patience.h"

struct cli_log {
    const struct cli *cli;
    const char *id;
    const char *replica; /* NULL = the gateway's choice */
    int64_t attempt;     /* 0 = all */
    int64_t tail;        /* lines, -1 = from the beginning */
    int64_t next;        /* offset to go on at, -1 = not known yet */
    bool follow;
    int fd;      /* where it goes */
    bool broken; /* fd takes no more */
    struct cli_patience patience;
};

/* Copy the log to log->fd: no byte twice, none left out. */
int cli_log_read(struct cli_log *log);

#endif
