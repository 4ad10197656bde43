/* download: one file of a job, its newest checkpoint, or all its files. */
#include "commands.h"
#include "fetch.h"
#include "file_path.h"
#include "http.h"

#include "trainyard/base/file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

/* Visit each item of a list that has pages, until `visit` gives something else than EXIT_DONE or
 * sets *stop. */
typedef int visit_item(void *context, const json_t *item, bool *stop);

static int for_each_item(const struct cli *cli, const char *id, const char *tail, visit_item *visit,
                         void *context)
{
    char cursor[512] = "";
    bool stop = false;
    do {
        ty_auto_json page = NULL;
        ty_auto_buf path = {0};
        size_t index;
        json_t *item;
        ty_buf_init(&path, 4096);
        cli_job_path(&path, id, tail);
        http_add_query_int(&path, "limit", 500);
        if (cursor[0] != '\0')
            http_add_query(&path, "cursor", cursor);
        int code = http_get(cli, path.data, &page);
        json_array_foreach(json_object_get(page, "items"), index, item)
        {
            if (code == EXIT_DONE && !stop)
                code = visit(context, item, &stop);
        }
        if (code != EXIT_DONE)
            return code;
        const char *next = json_string_value(json_object_get(page, "next_cursor"));
        if (!next || !ty_str_copy(cursor, sizeof cursor, next))
            return EXIT_DONE;
    } while (!stop);
    return EXIT_DONE;
}

static const char *link_of(const json_t *item)
{
    const char *link = json_string_value(json_object_get(json_object_get(item, "links"), "self"));
    return link ? link : "";
}

/* Where a file goes: --to FILE, --to FOLDER/its name, or its name here. */
static bool choose_target(const struct cli *cli, const char *path, char out[PATH_MAX])
{
    struct stat about;
    const char *to = cli_value(cli, "to");
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;
    int len;
    if (!to)
        len = snprintf(out, PATH_MAX, "%s", base);
    else if (!ty_str_equal(to, "-") &&
             (ty_str_ends(to, "/") || (stat(to, &about) == 0 && S_ISDIR(about.st_mode))))
        len = snprintf(out, PATH_MAX, "%s/%s", to, base);
    else
        len = snprintf(out, PATH_MAX, "%s", to);
    return len > 0 && len < PATH_MAX;
}

static int fetch_link(const struct cli *cli, const char *link)
{
    char path[PATH_MAX];
    char target[PATH_MAX];
    if (!cli_path_of_link(link, path, sizeof path) || !choose_target(cli, path, target)) {
        cli_say("%s is no file's path", link);
        return EXIT_REFUSED;
    }
    int code = cli_fetch(cli, link, target, path);
    if (code == EXIT_DONE && !ty_str_equal(target, "-"))
        puts(target);
    return code;
}

static int fetch_path(const struct cli *cli, const char *id, const char *path)
{
    ty_auto_buf link = {0};
    ty_buf_init(&link, 64 * 1024);
    cli_job_path(&link, id, "/artifacts/");
    http_encode_path(&link, path);
    return link.failed == TY_OK ? fetch_link(cli, link.data) : cli_misuse("the path is too long");
}

/* --- the newest checkpoint --- */

struct newest {
    char link[PATH_MAX];
    bool found;
};

static int take_latest(void *context, const json_t *item, bool *stop)
{
    struct newest *newest = context;
    if (!json_is_true(json_object_get(item, "latest")))
        return EXIT_DONE;
    newest->found = true;
    ty_str_copy(newest->link, sizeof newest->link, link_of(item));
    *stop = true;
    return EXIT_DONE;
}

static int fetch_latest(const struct cli *cli, const char *id)
{
    struct newest newest = {.found = false};
    int code = for_each_item(cli, id, "/checkpoints", take_latest, &newest);
    if (code != EXIT_DONE)
        return code;
    if (!newest.found) {
        cli_say("%s has no complete checkpoint", id);
        return EXIT_NOT_FOUND;
    }
    if (newest.link[0] == '\0') {
        cli_say("the checkpoint is on a volume of its own, not on the job's output");
        return EXIT_REFUSED;
    }
    return fetch_link(cli, newest.link);
}

/* --- all files --- */

struct tree {
    const struct cli *cli;
    const char *folder;
    size_t count;
};

static int make_folder_of(const char *target)
{
    char folder[PATH_MAX];
    struct ty_error err;
    const char *slash = strrchr(target, '/');
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - target) : 0, target);
    if (folder[0] == '\0' || ty_folder_make(folder, &err) == TY_OK)
        return EXIT_DONE;
    cli_say("cannot make %s: %s", folder, err.text);
    return EXIT_JOB_FAILED;
}

static int fetch_item(void *context, const json_t *item, bool *stop)
{
    struct tree *tree = context;
    char path[PATH_MAX];
    char target[PATH_MAX];
    const char *link = link_of(item);
    (void)stop;
    if (!cli_path_of_link(link, path, sizeof path) ||
        snprintf(target, sizeof target, "%s/%s", tree->folder, path) >= (int)sizeof target) {
        cli_say("left out, since its path is not safe: %s", link);
        return EXIT_REFUSED;
    }
    int code = make_folder_of(target);
    if (code == EXIT_DONE)
        code = cli_fetch(tree->cli, link, target, path);
    if (code == EXIT_DONE) {
        puts(target);
        tree->count++;
    }
    return code;
}

static int fetch_all(const struct cli *cli, const char *id, const char *folder)
{
    struct tree tree = {.cli = cli, .folder = folder};
    int code = for_each_item(cli, id, "/artifacts", fetch_item, &tree);
    if (code == EXIT_DONE && tree.count == 0)
        cli_say("%s has no files", id);
    return code;
}

static int run_download(struct cli *cli)
{
    char id[JOB_ID];
    bool one = cli->arguments.plain_count == 2;
    bool latest = cli_has(cli, "latest-checkpoint");
    const char *folder = cli_value(cli, "all");
    if (one + latest + (folder != NULL) != 1)
        return cli_misuse("give a PATH, --latest-checkpoint, or --all DIR");
    if (folder && cli_has(cli, "to"))
        return cli_misuse("--all and --to exclude each other");
    int code = cli_find_job(cli, cli->arguments.plain[0], id);
    if (code != EXIT_DONE)
        return code;
    if (folder)
        return fetch_all(cli, id, folder);
    return latest ? fetch_latest(cli, id) : fetch_path(cli, id, cli->arguments.plain[1]);
}

static const struct cli_option download_options[] = {
    {"to",                0, "FILE", "where to; - is standard output (by default its name, here)", NULL, false},
    {"all",               0, "DIR",  "all files, into this folder",                                NULL, false},
    {"latest-checkpoint", 0, NULL,   "the newest complete checkpoint",                             NULL, false},
    {NULL,                0, NULL,   NULL,                                                         NULL, false},
};

const struct cli_command command_download = {
    .name = "download",
    .usage = "JOB PATH | JOB --latest-checkpoint | JOB --all DIR",
    .help = "Download files that a job wrote",
    .more =
        "A download that broke off goes on where it stopped, also when the command is given "
        "again.\n"
        "A file appears under its name only when it is whole and its SHA-256 is right; the name\n"
        "is then printed.",
    .run = run_download,
    .options = download_options,
    .least = 1,
    .most = 2,
    .words = WORDS_JOBS,
};
