/* The gateway as one value: every room of one process, made in order and unmade in reverse. */
#ifndef TRAINYARD_APP_DAEMON_H
#define TRAINYARD_APP_DAEMON_H

#include "app/config.h"

#include "trainyard/api/api.h"

struct daemon {
    struct ty_config config;
    struct ty_log log;
    char *data;     /* absolute path of the data folder */
    char **listen;  /* NULL-ended */
    char **origins; /* NULL-ended, or NULL */
    struct ty_store *store;
    struct ty_hub *hub;
    struct ty_executor *executor;
    struct ty_engine *engine;
    struct ty_contract *contract;
    struct ty_log_watcher *watcher;
    struct ty_file_digests *digests;
    struct ty_pool *pool;
    struct ty_api *api;
    struct ty_http_server *server;
};

/* Everything up to listening sockets, in the order of dependence. What was made before a failure
 * stays for daemon_stop. The errors are those of the rooms; the text says which step failed. */
ty_status daemon_start(struct daemon *daemon, struct ty_error *err) TY_MUST_CHECK;

/* Close the door, let open requests end, stop. Takes a daemon at any stage. */
void daemon_stop(struct daemon *daemon);

/* The first bound address as HOST:PORT. */
void daemon_address(const struct daemon *daemon, char *out, size_t size);

#endif
