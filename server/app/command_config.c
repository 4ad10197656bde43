/* `trainyardd config print|check|help|markdown`: the configuration as it would be used, and the
 * table of keys. */
#include "app/commands.h"
#include "app/config.h"

#include "trainyard/base/str.h"

#include <stdio.h>
#include <unistd.h>

static int print_buf(struct ty_buf *text)
{
    bool good = text->failed == TY_OK && text->data &&
                fwrite(text->data, 1, text->len, stdout) == text->len;
    ty_buf_done(text);
    return good ? 0 : 1;
}

int command_config(int argc, char **argv)
{
    const char *what = argc > 0 ? argv[0] : "print";
    struct ty_buf text;
    ty_buf_init(&text, 1024 * 1024);
    if (ty_str_equal(what, "help") || ty_str_equal(what, "markdown")) {
        if (ty_str_equal(what, "help"))
            ty_config_help(&text);
        else
            ty_config_markdown(&text);
        return print_buf(&text);
    }
    if (!ty_str_equal(what, "print") && !ty_str_equal(what, "check")) {
        fprintf(stderr, "usage: trainyardd config print|check|help|markdown [flags]\n");
        return 2;
    }
    struct ty_config config;
    struct ty_error err;
    struct ty_config_sources sources = {argc > 0 ? argc - 1 : 0, argv + (argc > 0), environ};
    if (ty_config_load(&sources, &config, &err) != TY_OK) {
        fprintf(stderr, "trainyardd: %s\n", err.text);
        return 2;
    }
    if (ty_str_equal(what, "print"))
        ty_config_print(&config, &text);
    ty_config_done(&config);
    return ty_str_equal(what, "print") ? print_buf(&text) : 0;
}
