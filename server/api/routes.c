/* Every route of the API: method, path, the scope it needs, its body limit, where its handler runs.
 * Checked against the contract at start. */
#include "api/api.h"

static const char *const json_only[] = {"application/json", NULL};
static const char *const patch_types[] = {"application/merge-patch+json", "application/json", NULL};
static const char *const job_types[] = {"application/json", "application/yaml",
                                        "application/x-yaml", "text/yaml", NULL};
static const char *const manifest_types[] = {"application/json", "application/yaml", NULL};
static const char *const log_types[] = {"text/plain", "text/event-stream", NULL};
static const char *const event_types[] = {"application/x-ndjson", "text/event-stream", NULL};
static const char *const file_types[] = {"application/octet-stream", NULL};
static const char *const text_types[] = {"text/plain", NULL};
static const char *const html_types[] = {"text/html", NULL};
static const char *const css_types[] = {"text/css", NULL};
static const char *const asset_types[] = {"text/javascript", "text/css", "text/plain", NULL};

enum { KIB = 1024, MIB = 1024 * 1024 };

#define GET(path, scope, flags, types, handler)                                                    \
    {                                                                                              \
        TY_METHOD_GET, path, scope, 0, flags, NULL, types, handler                                 \
    }
#define POST(path, scope, limit, handler)                                                          \
    {                                                                                              \
        TY_METHOD_POST, path, scope, limit, TY_RUN_POOL, json_only, json_only, handler             \
    }
#define DELETE(path, scope, handler)                                                               \
    {                                                                                              \
        TY_METHOD_DELETE, path, scope, 0, TY_RUN_POOL, NULL, json_only, handler                    \
    }
#define PATCH(path, scope, limit, handler)                                                         \
    {                                                                                              \
        TY_METHOD_PATCH, path, scope, limit, TY_RUN_POOL, patch_types, json_only, handler          \
    }

/* clang-format off */
static const struct ty_route routes[] = {
    {TY_METHOD_POST, "/v1/jobs",                  TY_SCOPE_JOBS_WRITE,     4 * MIB,  TY_RUN_POOL | TY_RUN_SMALL_INLINE, job_types, json_only, jobs_create},
    GET   ("/v1/jobs",                            TY_SCOPE_JOBS_READ,      TY_RUN_POOL, json_only, jobs_list),
    POST  ("/v1/jobs:batch",                      TY_SCOPE_JOBS_WRITE,     16 * MIB, jobs_batch),
    POST  ("/v1/jobs:wait",                       TY_SCOPE_JOBS_READ,      64 * KIB, jobs_wait),
    GET   ("/v1/jobs/{job_id}",                   TY_SCOPE_JOBS_READ,      TY_RUN_INLINE, json_only, jobs_get),
    PATCH ("/v1/jobs/{job_id}",                   TY_SCOPE_JOBS_WRITE,     64 * KIB, jobs_update),
    DELETE("/v1/jobs/{job_id}",                   TY_SCOPE_JOBS_WRITE,     jobs_delete),
    POST  ("/v1/jobs/{job_id}/cancel",            TY_SCOPE_JOBS_CANCEL,    KIB,      jobs_cancel),
    POST  ("/v1/jobs/{job_id}/suspend",           TY_SCOPE_JOBS_WRITE,     KIB,      jobs_suspend),
    POST  ("/v1/jobs/{job_id}/resume",            TY_SCOPE_JOBS_WRITE,     KIB,      jobs_resume),
    POST  ("/v1/jobs/{job_id}/scale",             TY_SCOPE_JOBS_WRITE,     KIB,      jobs_scale),
    POST  ("/v1/jobs/{job_id}/restart",           TY_SCOPE_JOBS_WRITE,     KIB,      jobs_restart),
    {TY_METHOD_POST, "/v1/jobs/{job_id}/clone",   TY_SCOPE_JOBS_WRITE,     4 * MIB,  TY_RUN_POOL, patch_types, json_only, jobs_clone},
    GET   ("/v1/jobs/{job_id}/manifest",          TY_SCOPE_JOBS_READ,      TY_RUN_POOL, manifest_types, jobs_manifest),
    GET   ("/v1/jobs/{job_id}/transitions",       TY_SCOPE_JOBS_READ,      TY_RUN_POOL, json_only, jobs_transitions),
    GET   ("/v1/jobs/{job_id}/replicas",          TY_SCOPE_JOBS_READ,      TY_RUN_POOL, json_only, jobs_replicas),
    GET   ("/v1/jobs/{job_id}/logs",              TY_SCOPE_LOGS_READ,      TY_RUN_POOL, log_types, jobs_logs),
    GET   ("/v1/jobs/{job_id}/events",            TY_SCOPE_JOBS_READ,      TY_RUN_POOL, event_types, jobs_events),
    GET   ("/v1/events",                          TY_SCOPE_JOBS_READ,      TY_RUN_POOL, event_types, events_list),
    GET   ("/v1/jobs/{job_id}/artifacts",         TY_SCOPE_ARTIFACTS_READ, TY_RUN_POOL, json_only, jobs_artifacts),
    GET   ("/v1/jobs/{job_id}/artifacts/{path...}", TY_SCOPE_ARTIFACTS_READ, TY_RUN_POOL, file_types, jobs_artifact_get),
    GET   ("/v1/jobs/{job_id}/checkpoints",       TY_SCOPE_ARTIFACTS_READ, TY_RUN_POOL, json_only, jobs_checkpoints),
    POST  ("/v1/volumes",                         TY_SCOPE_VOLUMES_WRITE,  64 * KIB, volumes_create),
    GET   ("/v1/volumes",                         TY_SCOPE_VOLUMES_READ,   TY_RUN_POOL, json_only, volumes_list),
    GET   ("/v1/volumes/{volume}",                TY_SCOPE_VOLUMES_READ,   TY_RUN_POOL, json_only, volumes_get),
    DELETE("/v1/volumes/{volume}",                TY_SCOPE_VOLUMES_WRITE,  volumes_delete),
    POST  ("/v1/tokens",                          TY_SCOPE_TOKENS_MANAGE,  64 * KIB, tokens_create),
    GET   ("/v1/tokens",                          TY_SCOPE_TOKENS_MANAGE,  TY_RUN_POOL, json_only, tokens_list),
    GET   ("/v1/tokens/{token_id}",               TY_SCOPE_TOKENS_MANAGE,  TY_RUN_POOL, json_only, tokens_get),
    DELETE("/v1/tokens/{token_id}",               TY_SCOPE_TOKENS_MANAGE,  tokens_delete),
    POST  ("/v1/tokens/{token_id}/rotate",        TY_SCOPE_TOKENS_MANAGE,  64 * KIB, tokens_rotate),
    GET   ("/v1/whoami",                          0,                       TY_RUN_POOL, json_only, whoami),
    POST  ("/v1/tenants",                         TY_SCOPE_SYSTEM_ADMIN,   64 * KIB, tenants_create),
    GET   ("/v1/tenants",                         TY_SCOPE_SYSTEM_ADMIN,   TY_RUN_POOL, json_only, tenants_list),
    GET   ("/v1/tenants/{tenant}",                TY_SCOPE_TENANT_ADMIN,   TY_RUN_POOL, json_only, tenants_get),
    PATCH ("/v1/tenants/{tenant}",                TY_SCOPE_SYSTEM_ADMIN,   64 * KIB, tenants_update),
    DELETE("/v1/tenants/{tenant}",                TY_SCOPE_SYSTEM_ADMIN,   tenants_delete),
    GET   ("/v1/executors",                       TY_SCOPE_SYSTEM_ADMIN,   TY_RUN_POOL, json_only, executors_list),
    GET   ("/livez",                              0, TY_RUN_INLINE | TY_ROUTE_PUBLIC, json_only, livez),
    GET   ("/readyz",                             0, TY_RUN_POOL | TY_ROUTE_PUBLIC, json_only, readyz),
    GET   ("/metrics",                            TY_SCOPE_SYSTEM_ADMIN,   TY_RUN_POOL, text_types, metrics),
    GET   ("/openapi.json",                       0, TY_RUN_INLINE | TY_ROUTE_PUBLIC, json_only, openapi),
    GET   ("/docs",                               0, TY_RUN_INLINE | TY_ROUTE_PUBLIC, html_types, docs),
    GET   ("/docs/plain",                         0, TY_RUN_INLINE | TY_ROUTE_PUBLIC, html_types, docs_plain),
    GET   ("/docs/assets/{asset}",                0, TY_RUN_POOL | TY_ROUTE_PUBLIC, asset_types, docs_asset),
    GET   ("/docs/errors",                        0, TY_RUN_POOL | TY_ROUTE_PUBLIC, html_types, docs_errors),
    GET   ("/docs/style.css",                     0, TY_RUN_INLINE | TY_ROUTE_PUBLIC, css_types, docs_style),
};
/* clang-format on */

const struct ty_route *ty_api_routes(size_t *count_out)
{
    *count_out = sizeof routes / sizeof routes[0];
    return routes;
}
