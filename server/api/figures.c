/* What the gateway counts, and GET /metrics (Prometheus text 0.0.4; H23): labels are route
 * templates, methods and codes only, never a job, a token or free text. */
#include "api/api.h"

#include <inttypes.h>
#include <stdatomic.h>

/* Upper bounds of the duration histogram in microseconds, with their text in seconds. */
static const struct {
    int64_t below_us;
    const char *text;
} bounds[] = {
    {500,      "0.0005"},
    {1000,     "0.001" },
    {2500,     "0.0025"},
    {5000,     "0.005" },
    {10000,    "0.01"  },
    {25000,    "0.025" },
    {100000,   "0.1"   },
    {250000,   "0.25"  },
    {1000000,  "1"     },
    {5000000,  "5"     },
    {30000000, "30"    }
};
enum {
    BOUND_COUNT = sizeof bounds / sizeof bounds[0],
    CODE_COUNT = 600,
    METRICS_MAX = 4 * 1024 * 1024
};

struct route_figures {
    _Atomic uint64_t buckets[BOUND_COUNT + 1];
    _Atomic uint64_t sum_us;
    _Atomic uint64_t codes[CODE_COUNT];
};

struct figures {
    size_t route_count;
    struct route_figures
        routes[]; /* one more than there are routes: for requests that matched none */
};

struct figures *figures_create(size_t route_count)
{
    struct figures *figures =
        calloc(1, sizeof *figures + (route_count + 1) * sizeof figures->routes[0]);
    if (figures)
        figures->route_count = route_count;
    return figures;
}

void figures_destroy(struct figures *figures)
{
    free(figures);
}

/* On HTTP threads, for each request: a few relaxed additions. */
void api_observe(void *context, const struct ty_http_observation *seen)
{
    struct ty_api *api = context;
    size_t count;
    const struct ty_route *routes = ty_api_routes(&count);
    struct route_figures *figures =
        &api->figures->routes[seen->route ? (size_t)(seen->route - routes) : count];
    size_t bucket = 0;
    while (bucket < BOUND_COUNT && seen->duration_us >= bounds[bucket].below_us)
        bucket++;
    if (!seen->stream) {
        atomic_fetch_add_explicit(&figures->buckets[bucket], 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&figures->sum_us, (uint64_t)seen->duration_us,
                                  memory_order_relaxed);
    }
    if (seen->status >= 0 && seen->status < CODE_COUNT)
        atomic_fetch_add_explicit(&figures->codes[seen->status], 1, memory_order_relaxed);
    ty_log(api->options.log, TY_LOG_DEBUG, "request", "%s %s %d %" PRId64 "us %s",
           seen->method < TY_METHOD_COUNT ? ty_method_name(seen->method) : "-", seen->path,
           seen->status, seen->duration_us, seen->request_id);
}

/* --- writing --- */

static void write_head(struct ty_buf *out, const char *name, const char *type, const char *help)
{
    ty_buf_addf(out, "# HELP trainyard_%s %s\n# TYPE trainyard_%s %s\n", name, help, name, type);
}

static void write_value(struct ty_buf *out, const char *name, const char *type, const char *help,
                        double value)
{
    write_head(out, name, type, help);
    ty_buf_addf(out, "trainyard_%s %.15g\n", name, value);
}

static const char *route_name(const struct figures *figures, size_t index)
{
    size_t count;
    return index < figures->route_count ? ty_api_routes(&count)[index].path : "none";
}

static const char *route_method(const struct figures *figures, size_t index)
{
    size_t count;
    return index < figures->route_count ? ty_method_name(ty_api_routes(&count)[index].method)
                                        : "none";
}

static void write_requests(struct ty_buf *out, struct figures *figures)
{
    write_head(out, "http_requests_total", "counter", "Requests by route, method and code.");
    for (size_t r = 0; r <= figures->route_count; r++)
        for (int code = 0; code < CODE_COUNT; code++) {
            uint64_t count =
                atomic_load_explicit(&figures->routes[r].codes[code], memory_order_relaxed);
            if (count > 0)
                ty_buf_addf(
                    out,
                    "trainyard_http_requests_total{route=\"%s\",method=\"%s\",code=\"%d\"} %" PRIu64
                    "\n",
                    route_name(figures, r), route_method(figures, r), code, count);
        }
}

static void write_duration(struct ty_buf *out, struct figures *figures, size_t r)
{
    struct route_figures *route = &figures->routes[r];
    const char *name = route_name(figures, r);
    const char *method = route_method(figures, r);
    uint64_t total = 0;
    for (size_t b = 0; b <= BOUND_COUNT; b++) {
        total += atomic_load_explicit(&route->buckets[b], memory_order_relaxed);
        ty_buf_addf(out,
                    "trainyard_http_request_duration_seconds_bucket{route=\"%s\",method=\"%s\",le="
                    "\"%s\"} %" PRIu64 "\n",
                    name, method, b < BOUND_COUNT ? bounds[b].text : "+Inf", total);
    }
    ty_buf_addf(
        out, "trainyard_http_request_duration_seconds_sum{route=\"%s\",method=\"%s\"} %.6f\n", name,
        method, (double)atomic_load_explicit(&route->sum_us, memory_order_relaxed) / 1e6);
    ty_buf_addf(out,
                "trainyard_http_request_duration_seconds_count{route=\"%s\",method=\"%s\"} %" PRIu64
                "\n",
                name, method, total);
}

static bool any_request(struct route_figures *route)
{
    for (size_t b = 0; b <= BOUND_COUNT; b++)
        if (atomic_load_explicit(&route->buckets[b], memory_order_relaxed) > 0)
            return true;
    return false;
}

static void write_http(struct ty_buf *out, struct ty_api *api)
{
    struct ty_http_stats stats = {0};
    if (api->server)
        ty_http_server_stats(api->server, &stats);
    write_requests(out, api->figures);
    write_head(out, "http_request_duration_seconds", "histogram",
               "Time from the complete head to the end of the answer.");
    for (size_t r = 0; r <= api->figures->route_count; r++)
        if (any_request(&api->figures->routes[r]))
            write_duration(out, api->figures, r);
    write_value(out, "http_connections", "gauge", "Open connections.", stats.connections);
    write_value(out, "http_connections_accepted_total", "counter", "Connections taken.",
                (double)stats.accepted);
    write_value(out, "http_connections_refused_total", "counter", "Connections over a limit.",
                (double)stats.refused);
    write_value(out, "http_bad_heads_total", "counter", "Requests refused before a route.",
                (double)stats.bad_heads);
    write_value(out, "http_in_flight", "gauge", "Requests not yet answered.", stats.in_flight);
    write_value(out, "http_streams", "gauge", "Open streams.", stats.streams);
}

static void write_store(struct ty_buf *out, struct ty_api *api)
{
    struct ty_store_figures store = {0};
    enum { STEPS = sizeof store.commit_seconds_bucket / sizeof store.commit_seconds_bucket[0] };
    ty_store_figures(api->options.store, &store);
    write_value(out, "db_queue_depth", "gauge", "Writes waiting for a commit.",
                (double)store.queue_depth);
    write_value(out, "db_writes_total", "counter", "Writes taken.", (double)store.writes);
    write_value(out, "db_failed_commits_total", "counter", "Commits that failed.",
                (double)store.failed_commits);
    write_value(out, "db_fsync_errors_total", "counter", "Failed fsync calls.",
                (double)store.fsync_errors);
    write_head(out, "db_commit_seconds", "histogram", "Time of one commit.");
    int64_t total = 0;
    for (size_t i = 0; i < STEPS; i++) {
        total += store.commit_seconds_bucket[i];
        if (i + 1 < STEPS)
            ty_buf_addf(out, "trainyard_db_commit_seconds_bucket{le=\"%g\"} %" PRId64 "\n",
                        0.0005 * (double)(1u << i), total);
    }
    ty_buf_addf(out, "trainyard_db_commit_seconds_bucket{le=\"+Inf\"} %" PRId64 "\n", total);
    ty_buf_addf(out, "trainyard_db_commit_seconds_sum %.6f\n", store.commit_seconds_sum);
    ty_buf_addf(out, "trainyard_db_commit_seconds_count %" PRId64 "\n", total);
}

static void write_engine(struct ty_buf *out, struct ty_api *api)
{
    struct ty_engine_figures engine = {0};
    ty_engine_figures(api->options.engine, &engine);
    write_head(out, "jobs_live", "gauge", "Jobs that have not ended, by state.");
    for (int state = 0; state < TY_JOB_STATE_COUNT; state++)
        if (!ty_job_terminal((ty_job_state)state))
            ty_buf_addf(out, "trainyard_jobs_live{state=\"%s\"} %" PRId64 "\n",
                        ty_job_state_name((ty_job_state)state), engine.live_jobs[state]);
    write_value(out, "admitted_replicas", "gauge", "Replicas of admitted jobs.",
                (double)engine.admitted_replicas);
    write_value(out, "admitted_gpus", "gauge", "GPUs of admitted jobs.",
                (double)engine.admitted_gpus);
}

void metrics(void *context, struct ty_request *request)
{
    struct ty_api *api = context;
    ty_auto_buf out = {0};
    ty_buf_init(&out, METRICS_MAX);
    write_head(&out, "build_info", "gauge", "The version that runs.");
    ty_buf_addf(&out, "trainyard_build_info{version=\"%s\"} 1\n", TRAINYARD_VERSION);
    write_value(&out, "start_time_seconds", "gauge", "When the process started.",
                (double)api->started_us / 1e6);
    write_http(&out, api);
    write_store(&out, api);
    write_engine(&out, api);
    ty_request_answer(request,
                      ty_response_buf(200, "text/plain; version=0.0.4; charset=utf-8", &out));
}
