/* Completion scripts and help are made from the tables, so nothing of the tables may be missing. */
#include "unit.h"

#include "cli.h"

#include "trainyard/base/file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

/* What `print` writes to standard output. */
static void capture(void (*print)(const void *context), const void *context, struct ty_buf *out)
{
    struct ty_error err;
    char path[] = "/tmp/trainyard-cli-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    fflush(stdout);
    int before = dup(STDOUT_FILENO);
    assert_true(dup2(fd, STDOUT_FILENO) >= 0);
    print(context);
    fflush(stdout);
    assert_true(dup2(before, STDOUT_FILENO) >= 0);
    close(before);
    close(fd);
    ty_buf_init(out, 1024 * 1024);
    assert_int_equal(ty_file_read(AT_FDCWD, path, out, &err), TY_OK);
    unlink(path);
}

static void print_script(const void *shell)
{
    assert_int_equal(cli_print_completion(shell), EXIT_DONE);
}

static void print_help(const void *command)
{
    cli_print_help(command);
}

static void print_overview(const void *context)
{
    (void)context;
    cli_print_overview();
}

static void assert_mentions(const struct ty_buf *text, const char *prefix, const char *word)
{
    char wanted[128];
    snprintf(wanted, sizeof wanted, "%s%s", prefix, word);
    if (!strstr(text->data, wanted))
        fail_msg("%s is missing", wanted);
}

static void assert_options(const struct ty_buf *text, const char *prefix,
                           const struct cli_option *options)
{
    for (; options && options->name; options++)
        assert_mentions(text, prefix, options->name);
}

static void assert_command(const struct ty_buf *text, const char *prefix,
                           const struct cli_command *command)
{
    assert_mentions(text, "", cli_last_word(command->name));
    assert_options(text, prefix, command->options);
    assert_options(text, prefix, command->shared);
}

static void scripts_have_every_command_and_every_flag(void **state)
{
    static const struct {
        const char *shell;
        const char *prefix; /* of a flag's name */
    } shells[] = {
        {"bash", "--" },
        {"zsh",  "--" },
        {"fish", "-l "}
    };
    (void)state;
    for (size_t s = 0; s < UNIT_COUNT(shells); s++) {
        ty_auto_buf text = {0};
        capture(print_script, shells[s].shell, &text);
        assert_options(&text, shells[s].prefix, cli_global_options);
        for (size_t i = 0; cli_commands[i]; i++) {
            const struct cli_command *const *children = cli_commands[i]->children;
            assert_command(&text, shells[s].prefix, cli_commands[i]);
            for (; children && *children; children++)
                assert_command(&text, shells[s].prefix, *children);
        }
    }
    assert_int_equal(cli_print_completion("tcsh"), EXIT_USAGE);
}

static void help_has_every_flag_of_its_command(void **state)
{
    ty_auto_buf overview = {0};
    (void)state;
    capture(print_overview, NULL, &overview);
    for (size_t i = 0; cli_commands[i]; i++) {
        ty_auto_buf text = {0};
        assert_mentions(&overview, "\n  ", cli_commands[i]->name);
        capture(print_help, cli_commands[i], &text);
        assert_command(&text, "--", cli_commands[i]);
        assert_options(&text, "--", cli_global_options);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scripts_have_every_command_and_every_flag),
        cmocka_unit_test(help_has_every_flag_of_its_command),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
