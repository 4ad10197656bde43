/* The resources of the HTTP API: one route table over the rooms below. */
#ifndef TRAINYARD_API_API_H
#define TRAINYARD_API_API_H

#include "trainyard/contract/contract.h"
#include "trainyard/engine/engine.h"
#include "trainyard/http/server.h"
#include "trainyard/logs/archive.h"
#include "trainyard/logs/files.h"

struct ty_api;

/* All borrowed for the API's life. */
struct ty_api_options {
    struct ty_store *store;
    struct ty_engine *engine;
    struct ty_executor *executor;
    const struct ty_renderer *renderer;
    struct ty_hub *hub;
    const struct ty_contract *contract;
    struct ty_log_watcher *watcher;
    struct ty_file_digests *digests;
    struct ty_pool *pool;
    const struct ty_clock *clock;
    const struct ty_random *random;
    const struct ty_log *log;
    const char *data_folder;
    int64_t streams_per_token; /* followed logs and event streams open at a time */
    int64_t streams_per_tenant;
    int64_t default_keep_seconds; /* retention where neither job nor tenant says, 0 = for ever */
};

/* Load tokens and tenants, open one database reader a pool worker, hold the route table against the
 * contract. TY_INTERNAL     a route and the contract disagree; the text names it TY_UNAVAILABLE the
 * database cannot be read */
ty_status ty_api_create(const struct ty_api_options *options, struct ty_api **api_out,
                        struct ty_error *err) TY_MUST_CHECK;
void ty_api_destroy(struct ty_api *api); /* the HTTP server must have stopped; takes NULL */

/* What the HTTP server needs; `handler_context` is the API. */
const struct ty_route *ty_api_routes(size_t *count_out);
struct ty_http_hooks ty_api_hooks(struct ty_api *api);

/* The server whose figures /livez and /metrics show; before it starts. */
void ty_api_set_server(struct ty_api *api, struct ty_http_server *server);

/* Start the thread that ends waits and streams in time. Stopping joins it. */
ty_status ty_api_start(struct ty_api *api, struct ty_error *err) TY_MUST_CHECK;
void ty_api_stop(struct ty_api *api);

/* From now on /readyz fails and nobody is kept waiting any more. */
void ty_api_begin_drain(struct ty_api *api);

/* When no system administrator can sign in, make a token for one (tenant default, no expiry) and
 * write it to <data folder>/admin.token (0600); *made_out says whether one was made. */
ty_status ty_api_first_token(struct ty_api *api, bool *made_out,
                             struct ty_error *err) TY_MUST_CHECK;

#endif
