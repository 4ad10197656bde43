/* tokens: who may do what. */
#include "commands.h"
#include "http.h"
#include "output.h"

#include "trainyard/base/file.h"

#include <fcntl.h>
#include <stdio.h>

enum { LIFE_MOST_S = 31622400, OVERLAP_MOST_S = 604800 };

static const struct cli_column token_columns[] = {
    {"ID",        "id",           SHOW_TEXT, 0, false},
    {"NAME",      "name",         SHOW_TEXT, 0, false},
    {"KIND",      "kind",         SHOW_TEXT, 0, false},
    {"ROLE",      "role",         SHOW_TEXT, 0, false},
    {"HINT",      "hint",         SHOW_TEXT, 0, false},
    {"EXPIRES",   "expires_at",   SHOW_TEXT, 0, false},
    {"LAST USED", "last_used_at", SHOW_TEXT, 0, false},
    {"SCOPES",    "scopes",       SHOW_TEXT, 0, true },
    {NULL,        NULL,           SHOW_TEXT, 0, false},
};

/* "a,b c" as an array. */
static json_t *split_scopes(const char *text)
{
    json_t *scopes = json_array();
    for (text += strspn(text, ", "); *text; text += strspn(text, ", ")) {
        size_t len = strcspn(text, ", ");
        json_array_append_new(scopes, json_stringn(text, len));
        text += len;
    }
    return scopes;
}

/* The secret is shown once: in a file of the user's own, or on standard output. */
static int present_secret(const struct cli *cli, const json_t *token)
{
    struct ty_error err;
    const char *file = cli_value(cli, "to");
    const char *secret = json_string_value(json_object_get(token, "token"));
    ty_auto_json record = json_copy((json_t *)(uintptr_t)token);
    if (file && secret) {
        ty_auto_buf line = {0};
        ty_buf_init(&line, 4096);
        ty_buf_addf(&line, "%s\n", secret);
        if (ty_file_write(AT_FDCWD, file, line.data, line.len, 0600, &err) != TY_OK) {
            cli_say("cannot write %s: %s; the token is on standard output", file, err.text);
            file = NULL;
        }
    }
    if (file)
        json_object_del(record, "token");
    else
        cli_say("keep the token: it is not shown again");
    return cli_print_object(cli, record, "id");
}

static int run_list(struct cli *cli)
{
    return cli_print_pages(cli, "/v1/tokens", token_columns, "id");
}

static int run_create(struct cli *cli)
{
    int64_t life_s = 0;
    ty_auto_json token = NULL;
    if (!cli_seconds(cli, "expires", LIFE_MOST_S, &life_s))
        return EXIT_USAGE;
    ty_auto_json body = json_pack("{s:s,s:s*,s:s*}", "name", cli->arguments.plain[0], "role",
                                  cli_value(cli, "role"), "kind", cli_value(cli, "kind"));
    if (!body)
        return cli_misuse("the name is not UTF-8");
    if (cli_has(cli, "scopes"))
        json_object_set_new(body, "scopes", split_scopes(cli_value(cli, "scopes")));
    if (cli_has(cli, "expires"))
        json_object_set_new(body, "expires_in_seconds", json_integer(life_s));
    int code = http_send(cli, "POST", "/v1/tokens", body, NULL, &token);
    return code == EXIT_DONE ? present_secret(cli, token) : code;
}

static void token_path(struct ty_buf *path, const char *id, const char *tail)
{
    ty_buf_init(path, 4096);
    ty_buf_adds(path, "/v1/tokens/");
    http_encode(path, id);
    ty_buf_adds(path, tail);
}

static int run_rotate(struct cli *cli)
{
    int64_t overlap_s = 0;
    ty_auto_json token = NULL;
    ty_auto_buf path = {0};
    if (!cli_seconds(cli, "overlap", OVERLAP_MOST_S, &overlap_s))
        return EXIT_USAGE;
    token_path(&path, cli->arguments.plain[0], "/rotate");
    ty_auto_json body = json_pack("{s:I}", "overlap_seconds", (json_int_t)overlap_s);
    int code = http_send(cli, "POST", path.data, body, NULL, &token);
    return code == EXIT_DONE ? present_secret(cli, token) : code;
}

static int run_delete(struct cli *cli)
{
    ty_auto_buf path = {0};
    token_path(&path, cli->arguments.plain[0], "");
    return http_delete(cli, &path, NULL);
}

static const struct cli_option create_options[] = {
    {"role",    0, "ROLE", "what it may do (submitter)",
     "viewer submitter operator tenant_admin system_admin",                                           false},
    {"scopes",  0, "LIST", "fewer scopes than the role gives, separated by commas",   NULL,           false},
    {"expires", 0, "TIME", "how long it lives (90d)",                                 NULL,           false},
    {"kind",    0, "KIND", "user or service",                                         "user service", false},
    {"to",      0, "FILE", "write the token there, for you alone, not to the screen", NULL,           false},
    {NULL,      0, NULL,   NULL,                                                      NULL,           false},
};

static const struct cli_option rotate_options[] = {
    {"overlap", 0, "TIME", "how long the old token stays valid (not at all)",         NULL, false},
    {"to",      0, "FILE", "write the token there, for you alone, not to the screen", NULL, false},
    {NULL,      0, NULL,   NULL,                                                      NULL, false},
};

static const struct cli_option delete_options[] = {
    {"allow-missing", 0, NULL, "be content when there is no such token", NULL, false},
    {NULL,            0, NULL, NULL,                                     NULL, false},
};

static const struct cli_command tokens_list = {
    .name = "tokens list",
    .usage = "[flags]",
    .help = "List tokens, the newest first",
    .run = run_list,
    .options = cli_page_options,
};

static const struct cli_command tokens_create = {
    .name = "tokens create",
    .usage = "NAME [flags]",
    .help = "Make a token; it is shown once",
    .run = run_create,
    .options = create_options,
    .least = 1,
    .most = 1,
};

static const struct cli_command tokens_rotate = {
    .name = "tokens rotate",
    .usage = "ID [flags]",
    .help = "Replace a token's secret",
    .run = run_rotate,
    .options = rotate_options,
    .least = 1,
    .most = 1,
};

static const struct cli_command tokens_delete = {
    .name = "tokens delete",
    .usage = "ID [flags]",
    .help = "Revoke a token at once",
    .run = run_delete,
    .options = delete_options,
    .least = 1,
    .most = 1,
};

static const struct cli_command *const children[] = {&tokens_list, &tokens_create, &tokens_rotate,
                                                     &tokens_delete, NULL};

const struct cli_command command_tokens = {
    .name = "tokens",
    .usage = "[list | create | rotate | delete] …",
    .help = "Manage access tokens",
    .children = children,
};
