/* list: jobs by filters, page by page. */
#include "commands.h"
#include "http.h"
#include "jobs.h"

static void add_all(const struct cli *cli, struct ty_buf *path, const char *option,
                    const char *parameter)
{
    const char *value;
    for (size_t i = 0; (value = cli_nth(cli, option, i)) != NULL; i++)
        http_add_query(path, parameter, value);
}

static int run_list(struct cli *cli)
{
    ty_auto_buf path = {0};
    ty_buf_init(&path, 64 * 1024);
    ty_buf_adds(&path, "/v1/jobs");
    add_all(cli, &path, "state", "state");
    add_all(cli, &path, "label", "label");
    add_all(cli, &path, "name", "name");
    add_all(cli, &path, "created-after", "created_after");
    add_all(cli, &path, "created-before", "created_before");
    if (cli_has(cli, "oldest-first"))
        http_add_query(&path, "sort", "created_at");
    if (path.failed != TY_OK)
        return cli_misuse("the filters are too long");
    return cli_print_pages(cli, path.data, job_columns, "id");
}

static const struct cli_option list_options[] = {
    {"state",          0,   "STATE",     "only jobs in this state",
     "queued starting running restarting suspended cancelling succeeded failed cancelled lost",         true },
    {"label",          'l', "KEY=VALUE", "only jobs with this label",                             NULL, true },
    {"name",           0,   "NAME",      "only jobs of this name; mni* for all that begin so",    NULL, false},
    {"created-after",  0,   "TIME",      "only jobs created then or later, 2026-01-02T03:04:05Z", NULL,
     false                                                                                                   },
    {"created-before", 0,   "TIME",      "only jobs created before",                              NULL, false},
    {"oldest-first",   0,   NULL,        "the oldest first, not the newest",                      NULL, false},
    {"limit",          0,   "N",         "show at most so many (50)",                             NULL, false},
    {"all",            0,   NULL,        "show all, however many",                                NULL, false},
    {NULL,             0,   NULL,        NULL,                                                    NULL, false},
};

const struct cli_command command_list = {
    .name = "list",
    .usage = "[flags]",
    .help = "List jobs, the newest first",
    .run = run_list,
    .options = list_options,
};
