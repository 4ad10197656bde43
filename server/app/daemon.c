#include "app/daemon.h"

#include "trainyard/base/file.h"
#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"
#include "trainyard/contract/documents.h"
#include "trainyard/executor/local.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

enum { HUB_BODIES = 20000, DIGESTS = 4096, POOL_QUEUE = 4096, IMAGES_MAX = 64 };

/* --- the data folder --- */

static ty_status default_data_folder(char out[PATH_MAX], struct ty_error *err)
{
    const char *state = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    if (geteuid() == 0)
        ty_str_copy(out, PATH_MAX, "/var/lib/trainyard");
    else if (state && state[0] == '/')
        snprintf(out, PATH_MAX, "%s/trainyard", state);
    else if (home && home[0] == '/')
        snprintf(out, PATH_MAX, "%s/.local/state/trainyard", home);
    else
        return ty_fail(err, TY_INVALID, "no home folder: name a data folder with --data");
    return TY_OK;
}

static ty_status prepare_data_folder(struct daemon *daemon, struct ty_error *err)
{
    char path[PATH_MAX];
    if (daemon->config.data[0] != '\0')
        ty_str_copy(path, sizeof path, daemon->config.data);
    else if (default_data_folder(path, err) != TY_OK)
        return err->status;
    if (ty_folder_make(path, err) != TY_OK)
        return ty_wrap(err, "data folder %s", path);
    daemon->data = realpath(path, NULL);
    if (!daemon->data)
        return ty_fail_errno(err, errno, "data folder %s", path);
    snprintf(path, sizeof path, "%.*s/logs", PATH_MAX - 8, daemon->data);
    return ty_folder_make(path, err);
}

/* --- lists in texts --- */

/* Split a comma-separated text into a NULL-ended list; blanks around items are dropped. */
static ty_status split_list(const char *text, char ***list_out, struct ty_error *err)
{
    size_t count = 1;
    for (const char *c = text; *c; c++)
        count += *c == ',';
    char **list = calloc(count + 1, sizeof *list);
    if (!list)
        return ty_fail(err, TY_NO_MEMORY, "configuration");
    size_t used = 0;
    for (const char *item = text; *item;) {
        item += strspn(item, " ");
        size_t len = strcspn(item, ",");
        size_t end = len;
        while (end > 0 && item[end - 1] == ' ')
            end--;
        if (end > 0)
            list[used++] = strndup(item, end);
        item += len + (item[len] == ',');
    }
    *list_out = list;
    return TY_OK;
}

static void free_list(char **list)
{
    for (char **item = list; item && *item; item++)
        free(*item);
    free(list);
}

/* --- listening --- */

static bool is_loopback(const char *address)
{
    return ty_str_starts(address, "127.") || ty_str_starts(address, "[::1]:") ||
           ty_str_starts(address, "localhost:");
}

static bool only_loopback(const struct daemon *daemon)
{
    for (char **address = daemon->listen; *address; address++)
        if (!is_loopback(*address))
            return false;
    return true;
}

static ty_status read_listen(struct daemon *daemon, struct ty_error *err)
{
    if (split_list(daemon->config.listen, &daemon->listen, err) != TY_OK)
        return err->status;
    if (!daemon->listen[0])
        return ty_fail(err, TY_INVALID, "listen names no address");
    if (!only_loopback(daemon) && !daemon->config.allow_plain_http)
        return ty_fail(err, TY_INVALID,
                       "plain HTTP is served on loopback only; put a TLS proxy in front and say "
                       "--allow-plain-http");
    if (daemon->config.cors_origins[0] != '\0')
        return split_list(daemon->config.cors_origins, &daemon->origins, err);
    return TY_OK;
}

void daemon_address(const struct daemon *daemon, char *out, size_t size)
{
    const char *configured = daemon->listen[0];
    const char *colon = strrchr(configured, ':');
    int host_len = colon ? (int)(colon - configured) : (int)strlen(configured);
    snprintf(out, size, "%.*s:%u", host_len, configured, ty_http_server_port(daemon->server, 0));
}

/* --- the executor --- */

/* The supervisor stands beside the daemon's own program unless the configuration says otherwise. */
static ty_status supervisor_path(const struct daemon *daemon, char out[PATH_MAX],
                                 struct ty_error *err)
{
    if (daemon->config.supervisor[0] != '\0') {
        ty_str_copy(out, PATH_MAX, daemon->config.supervisor);
        return TY_OK;
    }
    char self[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    if (len < 0)
        return ty_fail_errno(err, errno, "find the supervisor");
    self[len] = '\0';
    char *slash = strrchr(self, '/');
    *slash = '\0';
    snprintf(out, PATH_MAX, "%.*s/trainyard-supervisor", PATH_MAX - 32, self);
    if (access(out, X_OK) != 0)
        return ty_fail_errno(err, errno, "trainyard-supervisor must stand beside trainyardd");
    return TY_OK;
}

static ty_status read_images(char **pairs, struct ty_local_image *images, size_t *count_out,
                             struct ty_error *err)
{
    for (size_t i = 0; pairs[i]; i++) {
        char *equals = strrchr(pairs[i], '=');
        if (!equals || equals == pairs[i] || equals[1] != '/' || i == IMAGES_MAX)
            return ty_fail(err, TY_INVALID, "image_roots must be up to %d PATTERN=/FOLDER pairs",
                           IMAGES_MAX);
        *equals = '\0';
        images[i] = (struct ty_local_image){.pattern = pairs[i], .root = equals + 1};
        *count_out = i + 1;
    }
    return TY_OK;
}

static ty_status make_executor(struct daemon *daemon, struct ty_error *err)
{
    char supervisor[PATH_MAX];
    struct ty_local_image images[IMAGES_MAX];
    struct ty_local_options options = {.data_folder = daemon->data,
                                       .supervisor_path = supervisor,
                                       .clock = ty_clock_system(),
                                       .log = &daemon->log,
                                       .images = images,
                                       .gpus = (int32_t)daemon->config.gpus,
                                       .backoff_base_ms = daemon->config.restart_backoff_ms,
                                       .grace_ms = daemon->config.grace_seconds * 1000,
                                       .log_bytes = daemon->config.log_limit_bytes};
    char **pairs = NULL;
    if (!ty_str_equal(daemon->config.executor, "local"))
        return ty_fail(err, TY_UNSUPPORTED, "this build has no executor \"%s\"; it has: local",
                       daemon->config.executor);
    if (supervisor_path(daemon, supervisor, err) != TY_OK ||
        split_list(daemon->config.image_roots, &pairs, err) != TY_OK)
        return err->status;
    ty_status status = read_images(pairs, images, &options.image_count, err);
    if (status == TY_OK)
        status = ty_local_create(&options, &daemon->executor, err);
    free_list(pairs);
    return status;
}

/* --- the rooms, each a step --- */

static ty_status make_store(struct daemon *daemon, struct ty_error *err)
{
    struct ty_store_options options = {
        .folder = daemon->data, .clock = ty_clock_system(), .log = &daemon->log, .threaded = true};
    return ty_store_open(&options, &daemon->store, err);
}

static ty_status make_hub(struct daemon *daemon, struct ty_error *err)
{
    return ty_hub_create(HUB_BODIES, &daemon->hub, err);
}

static ty_status make_engine(struct daemon *daemon, struct ty_error *err)
{
    struct ty_engine_options options = {.store = daemon->store,
                                        .executor = daemon->executor,
                                        .renderer = &ty_renderer_pytorchjob,
                                        .hub = daemon->hub,
                                        .clock = ty_clock_system(),
                                        .random = ty_random_system(),
                                        .log = &daemon->log,
                                        .default_keep_us = daemon->config.keep_seconds * 1000000,
                                        .start_deadline_us =
                                            daemon->config.start_deadline_seconds * 1000000,
                                        .data_folder = daemon->data};
    return ty_engine_create(&options, &daemon->engine, err);
}

static ty_status make_contract(struct daemon *daemon, struct ty_error *err)
{
    const struct ty_document *document = ty_contract_rules();
    return ty_contract_create(document->bytes, document->len, &daemon->contract, err);
}

static ty_status make_readers(struct daemon *daemon, struct ty_error *err)
{
    if (ty_log_watcher_create(&daemon->watcher, err) != TY_OK ||
        ty_file_digests_create(DIGESTS, &daemon->digests, err) != TY_OK)
        return err->status;
    return ty_pool_create("ty-work", (size_t)daemon->config.worker_threads, POOL_QUEUE,
                          &daemon->pool, err);
}

static ty_status make_api(struct daemon *daemon, struct ty_error *err)
{
    struct ty_api_options options = {.store = daemon->store,
                                     .engine = daemon->engine,
                                     .executor = daemon->executor,
                                     .renderer = &ty_renderer_pytorchjob,
                                     .hub = daemon->hub,
                                     .contract = daemon->contract,
                                     .watcher = daemon->watcher,
                                     .digests = daemon->digests,
                                     .pool = daemon->pool,
                                     .clock = ty_clock_system(),
                                     .random = ty_random_system(),
                                     .log = &daemon->log,
                                     .data_folder = daemon->data,
                                     .streams_per_token = daemon->config.streams_per_token,
                                     .streams_per_tenant = daemon->config.streams_per_tenant,
                                     .default_keep_seconds = daemon->config.keep_seconds};
    bool made = false;
    if (ty_api_create(&options, &daemon->api, err) != TY_OK ||
        ty_api_first_token(daemon->api, &made, err) != TY_OK)
        return err->status;
    if (made)
        ty_log(&daemon->log, TY_LOG_INFO, "admin_token_made",
               "the administrator's token is in %s/admin.token", daemon->data);
    return TY_OK;
}

static ty_status make_server(struct daemon *daemon, struct ty_error *err)
{
    struct ty_http_options options = {
        .listen = (const char *const *)daemon->listen,
        .threads = (unsigned)daemon->config.http_threads,
        .limits = {.connections = (unsigned)daemon->config.max_connections,
                   .connections_per_address = (unsigned)daemon->config.max_connections_per_address},
        .cors_origins = (const char *const *)daemon->origins,
        .handler_context = daemon->api,
        .pool = daemon->pool,
        .log = &daemon->log,
        .hooks = ty_api_hooks(daemon->api)
    };
    options.routes = ty_api_routes(&options.route_count);
    if (ty_http_server_create(&options, &daemon->server, err) != TY_OK)
        return err->status;
    ty_api_set_server(daemon->api, daemon->server);
    return TY_OK;
}

static ty_status write_address(struct daemon *daemon, struct ty_error *err)
{
    char line[256];
    ty_auto_fd folder = open(daemon->data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return ty_fail_errno(err, errno, "data folder");
    daemon_address(daemon, line, sizeof line - 1);
    size_t len = strlen(line);
    line[len] = '\n';
    return ty_file_write(folder, "address", line, len + 1, 0644, err);
}

static ty_status begin(struct daemon *daemon, struct ty_error *err)
{
    if (ty_engine_start(daemon->engine, err) != TY_OK || ty_api_start(daemon->api, err) != TY_OK ||
        write_address(daemon, err) != TY_OK)
        return err->status;
    return ty_http_server_start(daemon->server, err);
}

ty_status daemon_start(struct daemon *daemon, struct ty_error *err)
{
    static const struct {
        const char *name;
        ty_status (*run)(struct daemon *, struct ty_error *);
    } steps[] = {
        {"listen",      read_listen        },
        {"data folder", prepare_data_folder},
        {"store",       make_store         },
        {"hub",         make_hub           },
        {"executor",    make_executor      },
        {"engine",      make_engine        },
        {"contract",    make_contract      },
        {"readers",     make_readers       },
        {"api",         make_api           },
        {"server",      make_server        },
        {"start",       begin              },
    };
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
        if (steps[i].run(daemon, err) != TY_OK)
            return ty_wrap(err, "%s", steps[i].name);
    return TY_OK;
}

/* --- the end --- */

static void close_door(struct daemon *daemon)
{
    int64_t delay = daemon->config.drain_delay_seconds;
    if (delay < 0)
        delay = only_loopback(daemon) ? 0 : 5;
    ty_api_begin_drain(daemon->api);
    sleep((unsigned)delay);
    if (!ty_http_server_drain(daemon->server, (unsigned)daemon->config.drain_seconds))
        ty_log(&daemon->log, TY_LOG_WARNING, "drain_cut_short", "some requests were broken off");
    ty_http_server_stop(daemon->server);
}

void daemon_stop(struct daemon *daemon)
{
    if (daemon->server)
        close_door(daemon);
    ty_http_server_destroy(daemon->server);
    if (daemon->api)
        ty_api_stop(daemon->api);
    if (daemon->engine)
        ty_engine_stop(daemon->engine);
    if (daemon->executor)
        daemon->executor->ops->destroy(daemon->executor);
    ty_pool_destroy(daemon->pool);
    ty_api_destroy(daemon->api);
    ty_store_close(daemon->store);
    ty_engine_destroy(daemon->engine);
    ty_hub_destroy(daemon->hub);
    ty_contract_destroy(daemon->contract);
    ty_log_watcher_destroy(daemon->watcher);
    ty_file_digests_destroy(daemon->digests);
    free(daemon->data);
    free_list(daemon->listen);
    free_list(daemon->origins);
}
