/* volumes: claims that jobs mount. */
#include "commands.h"
#include "http.h"
#include "output.h"

static const struct cli_column volume_columns[] = {
    {"NAME",    "name",          SHOW_TEXT, 0, false},
    {"SIZE",    "size",          SHOW_TEXT, 0, false},
    {"USED",    "used_bytes",    SHOW_SIZE, 0, false},
    {"IN USE",  "in_use",        SHOW_TEXT, 0, false},
    {"CREATED", "created_at",    SHOW_TEXT, 0, false},
    {"MODE",    "access_mode",   SHOW_TEXT, 0, true },
    {"CLASS",   "storage_class", SHOW_TEXT, 0, true },
    {NULL,      NULL,            SHOW_TEXT, 0, false},
};

static void volume_path(struct ty_buf *path, const char *name)
{
    ty_buf_init(path, 4096);
    ty_buf_adds(path, "/v1/volumes/");
    http_encode(path, name);
}

static int run_list(struct cli *cli)
{
    return cli_print_pages(cli, "/v1/volumes", volume_columns, "name");
}

static int run_create(struct cli *cli)
{
    ty_auto_json volume = NULL;
    ty_auto_json body =
        json_pack("{s:s,s:s,s:s*,s:s*}", "name", cli->arguments.plain[0], "size",
                  cli->arguments.plain[1], "access_mode", cli_value(cli, "access-mode"),
                  "storage_class", cli_value(cli, "storage-class"));
    if (!body)
        return cli_misuse("the name is not UTF-8");
    int code = http_send(cli, "POST", "/v1/volumes", body, cli_value(cli, "key"), &volume);
    return code == EXIT_DONE ? cli_print_object(cli, volume, "name") : code;
}

static int run_get(struct cli *cli)
{
    ty_auto_json volume = NULL;
    ty_auto_buf path = {0};
    volume_path(&path, cli->arguments.plain[0]);
    int code = http_get(cli, path.data, &volume);
    return code == EXIT_DONE ? cli_print_object(cli, volume, "name") : code;
}

static int run_delete(struct cli *cli)
{
    ty_auto_buf path = {0};
    volume_path(&path, cli->arguments.plain[0]);
    return http_delete(cli, &path, NULL);
}

static const struct cli_option create_options[] = {
    {"access-mode",   0, "MODE", "who may mount it at once (read_write_once)",
     "read_write_once read_write_many read_only_many",                               false},
    {"storage-class", 0, "NAME", "the cluster's storage class",                NULL, false},
    {"key",           0, "KEY",  "idempotency key",                            NULL, false},
    {NULL,            0, NULL,   NULL,                                         NULL, false},
};

static const struct cli_option delete_options[] = {
    {"allow-missing", 0, NULL, "be content when there is no such volume", NULL, false},
    {NULL,            0, NULL, NULL,                                      NULL, false},
};

static const struct cli_command volumes_list = {
    .name = "volumes list",
    .usage = "[flags]",
    .help = "List volumes by name",
    .run = run_list,
    .options = cli_page_options,
};

static const struct cli_command volumes_create = {
    .name = "volumes create",
    .usage = "NAME SIZE [flags]",
    .help = "Make a volume, such as: volumes create data 10Gi",
    .run = run_create,
    .options = create_options,
    .least = 2,
    .most = 2,
};

static const struct cli_command volumes_get = {
    .name = "volumes get",
    .usage = "NAME",
    .help = "Show a volume, with the jobs that mount it",
    .run = run_get,
    .least = 1,
    .most = 1,
    .words = WORDS_VOLUMES,
};

static const struct cli_command volumes_delete = {
    .name = "volumes delete",
    .usage = "NAME [flags]",
    .help = "Remove a volume and all its files",
    .run = run_delete,
    .options = delete_options,
    .least = 1,
    .most = 1,
    .words = WORDS_VOLUMES,
};

static const struct cli_command *const children[] = {&volumes_list, &volumes_create, &volumes_get,
                                                     &volumes_delete, NULL};

const struct cli_command command_volumes = {
    .name = "volumes",
    .usage = "[list | create | get | delete] …",
    .help = "Manage volumes",
    .children = children,
};
