#include "app/config.h"

#include "temporary.h"
#include "trainyard/base/file.h"
#include "unit.h"

#include <stdio.h>
#include <unistd.h>

static ty_status load(char *const *flags, char *const *environment, struct ty_config *config,
                      struct ty_error *err)
{
    int count = 0;
    while (flags[count])
        count++;
    struct ty_config_sources sources = {count, flags, environment};
    return ty_config_load(&sources, config, err);
}

static char *const nothing[] = {NULL};

static void without_sources_every_key_has_its_default(void **state)
{
    struct ty_config config;
    struct ty_error err;
    (void)state;
    assert_int_equal(load(nothing, nothing, &config, &err), TY_OK);
    assert_string_equal(config.listen, "127.0.0.1:8080");
    assert_string_equal(config.executor, "local");
    assert_int_equal(config.gpus, -1);
    assert_false(config.allow_plain_http);
    ty_config_done(&config);
}

/* flag > environment > file > default, each shown by the one below it. */
static void nearer_sources_win(void **state)
{
    char folder[TEMPORARY_PATH];
    char path[TEMPORARY_PATH + 16];
    char variable[TEMPORARY_PATH + 64];
    static const char file[] = "listen: file:1\nlog_level: debug\nworker_threads: 3\ngpus: 2\n";
    struct ty_config config;
    struct ty_error err;
    int fd = temporary_open(folder);
    (void)state;
    snprintf(path, sizeof path, "%s/c.yaml", folder);
    snprintf(variable, sizeof variable, "TRAINYARD_CONFIG=%s", path);
    assert_int_equal(ty_file_write(fd, "c.yaml", file, sizeof file - 1, 0600, &err), TY_OK);
    char *const flags[] = {"--listen", "flag:3", "--allow-plain-http", NULL};
    char *const environment[] = {variable, "TRAINYARD_LISTEN=environment:2",
                                 "TRAINYARD_WORKER_THREADS=5", NULL};
    assert_int_equal(load(flags, environment, &config, &err), TY_OK);
    assert_string_equal(config.listen, "flag:3");
    assert_int_equal(config.worker_threads, 5);
    assert_string_equal(config.log_level, "debug");
    assert_int_equal(config.gpus, 2);
    assert_true(config.allow_plain_http);
    ty_config_done(&config);
    assert_int_equal(ty_tree_remove(AT_FDCWD, folder, &err), TY_OK);
    close(fd);
}

static void what_is_wrong_is_named_with_its_place(void **state)
{
    static const struct {
        char *const flags[3];
        char *const environment[2];
        const char *text;
    } cases[] = {
        {{"--nonsense"},             {NULL},                         "unknown argument --nonsense"         },
        {{"--listen"},               {NULL},                         "--listen needs a value"              },
        {{"--gpus=many"},            {NULL},                         "gpus (--gpus) must be a whole number"},
        {{"--gpus", "99999"},        {NULL},                         "from -1 to 1024"                     },
        {{NULL},                     {"TRAINYARD_DRAIN_SECONDS=-1"}, "(TRAINYARD_DRAIN_SECONDS)"           },
        {{"--allow-plain-http=yes"}, {NULL},                         "must be true or false"               },
        {{"--config=/no/such/file"}, {NULL},                         "configuration file"                  },
        {{"stray"},                  {NULL},                         "unknown argument stray"              },
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct ty_config config = {.listen = (char *)(uintptr_t) "untouched"};
        struct ty_error err;
        assert_int_not_equal(load(cases[i].flags, cases[i].environment, &config, &err), TY_OK);
        assert_non_null(strstr(err.text, cases[i].text));
        assert_string_equal(config.listen, "untouched");
    }
}

static void a_file_may_hold_only_known_single_values(void **state)
{
    static const struct {
        const char *file;
        const char *text;
    } cases[] = {
        {"lissten: x\n",     "no key \"lissten\""    },
        {"config: x\n",      "no key \"config\""     },
        {"listen: [a, b]\n", "must be a single value"},
        {"- listen\n",       "must be a mapping"     },
        {"listen: 'x\n",     "line"                  },
        {"gpus: 1.5\n",      "must be a single value"},
    };
    char folder[TEMPORARY_PATH];
    char flag[TEMPORARY_PATH + 32];
    int fd = temporary_open(folder);
    (void)state;
    snprintf(flag, sizeof flag, "--config=%s/c.yaml", folder);
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct ty_config config;
        struct ty_error err;
        char *const flags[] = {flag, NULL};
        assert_int_equal(
            ty_file_write(fd, "c.yaml", cases[i].file, strlen(cases[i].file), 0600, &err), TY_OK);
        assert_int_not_equal(load(flags, nothing, &config, &err), TY_OK);
        assert_non_null(strstr(err.text, cases[i].text));
    }
    struct ty_error err;
    assert_int_equal(ty_tree_remove(AT_FDCWD, folder, &err), TY_OK);
    close(fd);
}

static void what_is_printed_can_be_read_back(void **state)
{
    char folder[TEMPORARY_PATH];
    char flag[TEMPORARY_PATH + 32];
    struct ty_config first;
    struct ty_config second;
    struct ty_error err;
    struct ty_buf text;
    int fd = temporary_open(folder);
    (void)state;
    char *const set[] = {"--listen=[::1]:0", "--cors-origins=https://a.example, no", "--gpus=4",
                         NULL};
    ty_buf_init(&text, 65536);
    assert_int_equal(load(set, nothing, &first, &err), TY_OK);
    ty_config_print(&first, &text);
    assert_int_equal(text.failed, TY_OK);
    /* The name of the file itself is not a key of the file. */
    char *own = strstr(text.data, "config:");
    memmove(own, strchr(own, '\n') + 1, strlen(strchr(own, '\n')));
    snprintf(flag, sizeof flag, "--config=%s/c.yaml", folder);
    assert_int_equal(ty_file_write(fd, "c.yaml", text.data, strlen(text.data), 0600, &err), TY_OK);
    char *const from_file[] = {flag, NULL};
    assert_int_equal(load(from_file, nothing, &second, &err), TY_OK);
    assert_string_equal(second.listen, first.listen);
    assert_string_equal(second.cors_origins, first.cors_origins);
    assert_int_equal(second.gpus, 4);
    ty_config_done(&first);
    ty_config_done(&second);
    ty_buf_done(&text);
    assert_int_equal(ty_tree_remove(AT_FDCWD, folder, &err), TY_OK);
    close(fd);
}

static void help_and_table_name_every_key_once(void **state)
{
    struct ty_buf help;
    struct ty_buf table;
    (void)state;
    ty_buf_init(&help, 65536);
    ty_buf_init(&table, 65536);
    ty_config_help(&help);
    ty_config_markdown(&table);
    assert_non_null(strstr(help.data, "--max-connections-per-address"));
    assert_non_null(strstr(table.data, "| `--listen` | `TRAINYARD_LISTEN` | `127.0.0.1:8080` |"));
    ty_buf_done(&help);
    ty_buf_done(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_sources_every_key_has_its_default),
        cmocka_unit_test(nearer_sources_win),
        cmocka_unit_test(what_is_wrong_is_named_with_its_place),
        cmocka_unit_test(a_file_may_hold_only_known_single_values),
        cmocka_unit_test(what_is_printed_can_be_read_back),
        cmocka_unit_test(help_and_table_name_every_key_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
