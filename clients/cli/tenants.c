/* tenants and whoami: who uses the gateway, and with how much. */
#include "commands.h"
#include "http.h"
#include "output.h"
#include "spec.h"

#include "trainyard/base/json.h"

#include <stdio.h>

enum { QUOTA_MOST = 1000000, TIME_MOST_S = 31536000 };

static const struct cli_column tenant_columns[] = {
    {"NAME",         "name",               SHOW_TEXT, 0, false},
    {"NAMESPACE",    "namespace",          SHOW_TEXT, 0, false},
    {"LIVE",         "usage.live",         SHOW_TEXT, 0, false},
    {"QUEUED",       "usage.queued",       SHOW_TEXT, 0, false},
    {"JOBS",         "usage.jobs",         SHOW_TEXT, 0, false},
    {"MAX JOBS",     "quota.max_jobs",     SHOW_TEXT, 0, false},
    {"MAX GPUS",     "quota.max_gpus",     SHOW_TEXT, 0, false},
    {"MAX QUEUED",   "quota.max_queued",   SHOW_TEXT, 0, true },
    {"MAX REPLICAS", "quota.max_replicas", SHOW_TEXT, 0, true },
    {"CREATED",      "created_at",         SHOW_TEXT, 0, true },
    {"DESCRIPTION",  "description",        SHOW_TEXT, 0, true },
    {NULL,           NULL,                 SHOW_TEXT, 0, false},
};

static void tenant_path(struct ty_buf *path, const char *name)
{
    ty_buf_init(path, 4096);
    ty_buf_adds(path, "/v1/tenants/");
    http_encode(path, name);
}

/* --- what a tenant may have, from flags --- */

static const struct {
    const char *option;
    const char *member;
    bool quota;
    bool time;
} limits[] = {
    {"max-jobs",        "max_jobs",                true,  false},
    {"max-queued",      "max_queued",              true,  false},
    {"max-replicas",    "max_replicas",            true,  false},
    {"max-gpus",        "max_gpus",                true,  false},
    {"default-keep",    "default_keep_seconds",    false, true },
    {"default-timeout", "default_timeout_seconds", false, true },
};

static int set_limits(const struct cli *cli, json_t *body)
{
    ty_auto_json quota = json_object();
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        int64_t number = 0;
        const char *option = limits[i].option;
        const char *text = cli_value(cli, option);
        bool none = text && ty_str_equal(text, "none");
        if (!text)
            continue;
        if (!none && !(limits[i].time ? cli_seconds(cli, option, TIME_MOST_S, &number)
                                      : cli_number(cli, option, 0, QUOTA_MOST, &number)))
            return EXIT_USAGE;
        json_object_set_new(limits[i].quota ? quota : body, limits[i].member,
                            none ? json_null() : json_integer(number));
    }
    if (json_object_size(quota) > 0)
        json_object_set(body, "quota", quota);
    return EXIT_DONE;
}

/* --- what its jobs may ask for --- */

/* The lists that are open when everything is allowed. */
static const char open_policy[] =
    "{\"images\":[\"*\"],\"volumes\":[\"*\"],\"storage_classes\":[\"*\"],\"node_labels\":[\"*\"],"
    "\"tolerations\":[\"*\"],\"namespaces\":[\"*\"],\"priority_classes\":[\"*\"],\"queues\":[\"*\"]"
    ","
    "\"schedulers\":[\"*\"],\"secrets\":[\"*\"]}";

/* --policy: a file, or a word for everything or nothing. An update merges a file into the policy
 * there is. */
static int set_policy(const struct cli *cli, json_t *body)
{
    const char *given = cli_value(cli, "policy");
    json_t *policy = NULL;
    int code = EXIT_DONE;
    if (!given)
        return EXIT_DONE;
    if (ty_str_equal(given, "open"))
        policy = json_loads(open_policy, 0, NULL);
    else if (ty_str_equal(given, "closed"))
        policy = json_null();
    else
        code = cli_read_object(given, &policy);
    if (code != EXIT_DONE)
        return code;
    return json_object_set_new(body, "policy", policy) == 0 ? EXIT_DONE : EXIT_JOB_FAILED;
}

/* --- commands --- */

static int run_list(struct cli *cli)
{
    return cli_print_pages(cli, "/v1/tenants", tenant_columns, "name");
}

/* For people the policy has a line for each member below the rest. */
static int print_tenant(const struct cli *cli, json_t *tenant)
{
    ty_auto_json policy = json_incref(json_object_get(tenant, "policy"));
    const char *key;
    json_t *value;
    if (cli->format == FORMAT_TABLE || cli->format == FORMAT_WIDE)
        json_object_del(tenant, "policy");
    else
        return cli_print_object(cli, tenant, "name");
    int code = cli_print_object(cli, tenant, "name");
    json_object_foreach(policy, key, value)
    {
        printf("policy %-11s ", key);
        json_dumpf(value, stdout, JSON_ENCODE_ANY | JSON_ENSURE_ASCII | JSON_COMPACT);
        putchar('\n');
    }
    if (json_object_size(policy) == 0)
        puts("policy             nothing is allowed");
    return code;
}

static int run_create(struct cli *cli)
{
    ty_auto_json tenant = NULL;
    ty_auto_json body =
        json_pack("{s:s,s:s*,s:s*}", "name", cli->arguments.plain[0], "namespace",
                  cli_value(cli, "namespace"), "description", cli_value(cli, "description"));
    if (!body)
        return cli_misuse("the name is not UTF-8");
    int code = set_limits(cli, body);
    if (code == EXIT_DONE)
        code = set_policy(cli, body);
    if (json_is_null(json_object_get(body, "policy")))
        json_object_del(body, "policy"); /* a new tenant has none anyway */
    if (code == EXIT_DONE)
        code = http_send(cli, "POST", "/v1/tenants", body, NULL, &tenant);
    return code == EXIT_DONE ? print_tenant(cli, tenant) : code;
}

static int run_get(struct cli *cli)
{
    ty_auto_json tenant = NULL;
    ty_auto_buf path = {0};
    tenant_path(&path, cli->arguments.plain[0]);
    int code = http_get(cli, path.data, &tenant);
    return code == EXIT_DONE ? print_tenant(cli, tenant) : code;
}

static int run_update(struct cli *cli)
{
    ty_auto_json tenant = NULL;
    ty_auto_buf path = {0};
    ty_auto_json body = json_pack("{s:s*}", "description", cli_value(cli, "description"));
    tenant_path(&path, cli->arguments.plain[0]);
    if (!body)
        return cli_misuse("the description is not UTF-8");
    int code = set_limits(cli, body);
    if (code == EXIT_DONE)
        code = set_policy(cli, body);
    if (code == EXIT_DONE && json_object_size(body) == 0)
        return cli_misuse("nothing to change (see trainyard help tenants update)");
    if (code == EXIT_DONE)
        code = http_send(cli, "PATCH", path.data, body, NULL, &tenant);
    return code == EXIT_DONE ? print_tenant(cli, tenant) : code;
}

static int run_delete(struct cli *cli)
{
    ty_auto_buf path = {0};
    tenant_path(&path, cli->arguments.plain[0]);
    return http_delete(cli, &path, NULL);
}

/* For people: the few things they ask for, flat. */
static int run_whoami(struct cli *cli)
{
    ty_auto_json answer = NULL;
    int code = http_get(cli, "/v1/whoami", &answer);
    if (code != EXIT_DONE)
        return code;
    const json_t *token = json_object_get(answer, "token");
    const json_t *tenant = json_object_get(answer, "tenant");
    if (cli->format == FORMAT_JSON || cli->format == FORMAT_YAML)
        return cli_print_object(cli, answer, "");
    if (cli->format == FORMAT_NAME)
        return cli_print_object(cli, token, "name");
    ty_auto_json flat =
        json_pack("{s:s,s:O?,s:O?,s:O?,s:O?,s:O?,s:O?,s:O?,s:O?,s:O?,s:O?}", "gateway", cli->url,
                  "token", json_object_get(token, "name"), "token_id", json_object_get(token, "id"),
                  "role", json_object_get(token, "role"), "expires_at",
                  json_object_get(token, "expires_at"), "tenant", json_object_get(tenant, "name"),
                  "namespace", json_object_get(tenant, "namespace"), "scopes",
                  json_object_get(answer, "scopes"), "quota", json_object_get(tenant, "quota"),
                  "limits", json_object_get(json_object_get(tenant, "policy"), "limits"), "usage",
                  json_object_get(tenant, "usage"));
    return flat ? cli_print_object(cli, flat, "token") : EXIT_JOB_FAILED;
}

/* --- tables --- */

static const struct cli_option limit_options[] = {
    {"description",     0, "TEXT", "free text",                                                          NULL, false},
    {"max-jobs",        0, "N",    "jobs that run at once, or none for no limit",                        NULL, false},
    {"max-queued",      0, "N",    "jobs that wait, or none",                                            NULL, false},
    {"max-replicas",    0, "N",    "replicas at once, or none",                                          NULL, false},
    {"max-gpus",        0, "N",    "GPUs at once, or none",                                              NULL, false},
    {"default-keep",    0, "TIME", "how long finished jobs are kept, or none",                           NULL, false},
    {"default-timeout", 0, "TIME", "how long jobs may run, or none",                                     NULL, false},
    {"policy",          0, "FILE", "what jobs may ask for, as JSON or YAML, or the word open or closed",
     NULL,                                                                                                     false},
    {NULL,              0, NULL,   NULL,                                                                 NULL, false},
};

static const struct cli_option create_options[] = {
    {"namespace", 0, "NAME", "where its objects live (trainyard-NAME)", NULL, false},
    {NULL,        0, NULL,   NULL,                                      NULL, false},
};

static const struct cli_option delete_options[] = {
    {"allow-missing", 0, NULL, "be content when there is no such tenant", NULL, false},
    {NULL,            0, NULL, NULL,                                      NULL, false},
};

static const struct cli_command tenants_list = {
    .name = "tenants list",
    .usage = "[flags]",
    .help = "List tenants by name",
    .run = run_list,
    .options = cli_page_options,
};

static const struct cli_command tenants_create = {
    .name = "tenants create",
    .usage = "NAME [flags]",
    .help = "Make a tenant",
    .run = run_create,
    .options = create_options,
    .shared = limit_options,
    .least = 1,
    .most = 1,
};

static const struct cli_command tenants_get = {
    .name = "tenants get",
    .usage = "NAME",
    .help = "Show a tenant",
    .run = run_get,
    .least = 1,
    .most = 1,
};

static const struct cli_command tenants_update = {
    .name = "tenants update",
    .usage = "NAME [flags]",
    .help = "Change a tenant's quota, policy, defaults or description",
    .run = run_update,
    .shared = limit_options,
    .least = 1,
    .most = 1,
};

static const struct cli_command tenants_delete = {
    .name = "tenants delete",
    .usage = "NAME [flags]",
    .help = "Remove a tenant that has nothing any more",
    .run = run_delete,
    .options = delete_options,
    .least = 1,
    .most = 1,
};

static const struct cli_command *const children[] = {&tenants_list,   &tenants_create, &tenants_get,
                                                     &tenants_update, &tenants_delete, NULL};

const struct cli_command command_tenants = {
    .name = "tenants",
    .usage = "[list | create | get | update | delete] …",
    .help = "Manage tenants (system administrators)",
    .children = children,
};

const struct cli_command command_whoami = {
    .name = "whoami",
    .usage = "",
    .help = "Show the gateway, the token in use and its tenant",
    .run = run_whoami,
};
