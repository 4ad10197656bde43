/* Where the gateway is and which token opens it: flag, environment, then the data folder of this
 * machine. */
#include "cli.h"

#include "trainyard/base/file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

enum { FILE_MAX = 4096 };

/* The first line of a file, without its end; NULL when it cannot be read. */
static char *read_line(const char *path)
{
    struct ty_error err;
    struct ty_buf text;
    ty_buf_init(&text, FILE_MAX);
    if (ty_file_read(AT_FDCWD, path, &text, &err) != TY_OK || text.len == 0) {
        ty_buf_done(&text);
        return NULL;
    }
    text.data[strcspn(text.data, "\r\n")] = '\0';
    return ty_buf_take(&text, NULL);
}

static char *read_from_data(const char *folder, const char *name)
{
    char path[PATH_MAX];
    int len = snprintf(path, sizeof path, "%s/%s", folder, name);
    return len > 0 && (size_t)len < sizeof path ? read_line(path) : NULL;
}

/* The folders a gateway of this machine may use, the user's own first. */
static char *read_from_machine(const struct cli *cli, const char *name)
{
    char path[PATH_MAX];
    const char *given = cli_value(cli, "data") ? cli_value(cli, "data") : getenv("TRAINYARD_DATA");
    const char *state = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    if (given && given[0] != '\0')
        return read_from_data(given, name);
    if (state && state[0] == '/')
        snprintf(path, sizeof path, "%s/trainyard", state);
    else
        snprintf(path, sizeof path, "%s/.local/state/trainyard", home ? home : "");
    char *line = geteuid() == 0 ? NULL : read_from_data(path, name);
    return line ? line : read_from_data("/var/lib/trainyard", name);
}

static char *with_scheme(const char *address)
{
    struct ty_buf url;
    ty_buf_init(&url, FILE_MAX);
    bool has_scheme = ty_str_starts(address, "http://") || ty_str_starts(address, "https://");
    size_t len = strlen(address);
    while (len > 0 && address[len - 1] == '/')
        len--;
    ty_buf_addf(&url, "%s%.*s", has_scheme ? "" : "http://", (int)len, address);
    return ty_buf_take(&url, NULL);
}

/* An address that was given, or NULL when this machine's gateway is to be found. */
static const char *given_address(const struct cli *cli)
{
    const char *given =
        cli_value(cli, "address") ? cli_value(cli, "address") : getenv("TRAINYARD_ADDRESS");
    return given && given[0] != '\0' ? given : NULL;
}

static char *find_address(const struct cli *cli)
{
    const char *given = given_address(cli);
    if (given)
        return with_scheme(given);
    ty_auto_free char *found = read_from_machine(cli, "address");
    return with_scheme(found ? found : "127.0.0.1:8080");
}

bool cli_is_loopback(const char *address)
{
    static const char *const hosts[] = {"localhost", "[::1]"};
    const char *scheme = strstr(address, "://");
    const char *host = scheme ? scheme + 3 : address;
    size_t len = host[0] == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":/");
    if (memchr(host, '@', strcspn(host, "/")))
        return false;
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++)
        if (strlen(hosts[i]) == len && memcmp(hosts[i], host, len) == 0)
            return true;
    return ty_str_starts(host, "127.") && strspn(host, "0123456789.") == len;
}

/* The machine's own token is for the machine's own gateway: it never goes to another address. */
static char *find_token(const struct cli *cli)
{
    const char *file = cli_value(cli, "token-file");
    const char *token = getenv("TRAINYARD_TOKEN");
    if (!file && token && token[0] != '\0')
        return strdup(token);
    if (!file)
        file = getenv("TRAINYARD_TOKEN_FILE");
    if (file && file[0] != '\0') {
        char *line = read_line(file);
        if (!line)
            cli_say("cannot read the token file %s", file);
        return line;
    }
    return !given_address(cli) || cli_is_loopback(cli->url) ? read_from_machine(cli, "admin.token")
                                                            : NULL;
}

int cli_find(struct cli *cli)
{
    cli->url = find_address(cli);
    cli->token = find_token(cli);
    cli->tenant = cli_value(cli, "tenant") ? cli_value(cli, "tenant") : getenv("TRAINYARD_TENANT");
    if (!cli->url)
        return EXIT_UNAVAILABLE;
    if (!cli->token || cli->token[0] == '\0') {
        cli_say("no token: set TRAINYARD_TOKEN or TRAINYARD_TOKEN_FILE, or name a file with "
                "--token-file");
        return EXIT_AUTH;
    }
    return EXIT_DONE;
}

void cli_done(struct cli *cli)
{
    free(cli->url);
    free(cli->token);
}
