#include "unit.h"

#include "cli.h"

static const struct cli_option own_options[] = {
    {"name",   'n', "NAME", "",   NULL,      false},
    {"label",  0,   "L",    "",   NULL,      true },
    {"follow", 'f', NULL,   "",   NULL,      false},
    {"mode",   0,   "M",    "",   "one two", false},
    {NULL,     0,   NULL,   NULL, NULL,      false},
};

static const struct cli_option shared_options[] = {
    {"epochs", 'e', "N",  "",   NULL, false},
    {NULL,     0,   NULL, NULL, NULL, false},
};

static const struct cli_command command = {
    .name = "test",
    .usage = "A [B]",
    .options = own_options,
    .shared = shared_options,
    .least = 1,
    .most = 3,
};

enum { WORDS_MAX = 12 };

static int parse(const char *const *words, struct cli_arguments *out)
{
    char *argv[WORDS_MAX + 1] = {NULL};
    int argc = 0;
    for (; words[argc]; argc++)
        argv[argc] = (char *)(uintptr_t)words[argc];
    return cli_parse(&command, argc, argv, out);
}

/* The words of a line; they live in `line`'s copy until the next call. */
static int split(const char *line, char *copy, char **argv)
{
    int argc = 0;
    char *rest = copy;
    ty_str_copy(copy, 256, line);
    for (char *word; (word = strtok_r(rest, " ", &rest)) != NULL;)
        argv[argc++] = word;
    return argc;
}

static int parse_line(const struct cli_command *of, const char *line, struct cli_arguments *out)
{
    char copy[256];
    char *argv[WORDS_MAX + 1] = {NULL};
    int argc = split(line, copy, argv);
    return cli_parse(of, argc, argv, out);
}

static void words_are_taken_apart(void **state)
{
    struct cli cli = {.command = &command};
    static const char *const words[] = {"a",  "-n",      "x",  "--label=1", "--label", "-2",
                                        "-f", "-o=json", "--", "-b",        NULL};
    static const char *const attached[] = {"-nx", "-", "--epochs=", "-ojson", NULL};
    (void)state;
    /* "-o=json" is the value "=json", which is none of the choices. */
    assert_int_equal(parse(words, &cli.arguments), EXIT_USAGE);
    static const char *const good[] = {"a",  "-n", "x",    "--label=1", "--label", "-2",
                                       "-f", "-o", "json", "--",        "-b",      NULL};
    assert_int_equal(parse(good, &cli.arguments), EXIT_DONE);
    assert_int_equal(cli.arguments.plain_count, 2);
    assert_int_equal(cli.arguments.rest, 1);
    assert_string_equal(cli.arguments.plain[0], "a");
    assert_string_equal(cli.arguments.plain[1], "-b");
    assert_string_equal(cli_value(&cli, "name"), "x");
    assert_string_equal(cli_nth(&cli, "label", 0), "1");
    assert_string_equal(cli_nth(&cli, "label", 1), "-2");
    assert_null(cli_nth(&cli, "label", 2));
    assert_true(cli_has(&cli, "follow"));
    assert_false(cli_has(&cli, "mode"));
    assert_string_equal(cli_value(&cli, "output"), "json");
    assert_int_equal(parse(attached, &cli.arguments), EXIT_DONE);
    assert_string_equal(cli_value(&cli, "name"), "x");
    assert_string_equal(cli_value(&cli, "epochs"), "");
    assert_string_equal(cli.arguments.plain[0], "-");
    assert_int_equal(cli.arguments.rest, 1);
}

static void wrong_words_are_refused(void **state)
{
    /* Each a line of words, separated by blanks. */
    static const char *const cases[] = {
        "",
        "a b c d",
        "a --nothing",
        "a -x",
        "a --name",
        "a -n",
        "a --follow=yes",
        "a -fx",
        "a --name=1 --name=2",
        "a --mode three",
        "a --mode on",
        "a --mode=",
        "a --nam x",
        "a --mode one1",
    };
    struct cli_arguments arguments;
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++)
        assert_int_equal(parse_line(&command, cases[i], &arguments), EXIT_USAGE);
    assert_int_equal(parse_line(&command, "a --mode one", &arguments), EXIT_DONE);
}

static void help_may_be_asked_for_without_the_rest(void **state)
{
    static const char *const words[] = {"--help", NULL};
    struct cli_arguments arguments;
    (void)state;
    assert_int_equal(parse(words, &arguments), EXIT_DONE);
}

static void more_than_fits_is_refused(void **state)
{
    static char *words[GIVEN_MAX + 2];
    struct cli_arguments arguments;
    static const struct cli_command greedy = {
        .name = "test", .usage = "", .options = own_options, .most = ARGUMENTS_MAX};
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(words); i++)
        words[i] = (char *)(uintptr_t) "--label=x";
    assert_int_equal(cli_parse(&greedy, GIVEN_MAX, words, &arguments), EXIT_DONE);
    assert_int_equal(cli_parse(&greedy, GIVEN_MAX + 1, words, &arguments), EXIT_USAGE);
    for (size_t i = 0; i < UNIT_COUNT(words); i++)
        words[i] = (char *)(uintptr_t) "x";
    assert_int_equal(cli_parse(&greedy, ARGUMENTS_MAX, words, &arguments), EXIT_DONE);
    assert_int_equal(cli_parse(&greedy, ARGUMENTS_MAX + 1, words, &arguments), EXIT_USAGE);
}

static void the_command_may_stand_behind_global_options(void **state)
{
    static const struct {
        const char *line;
        const char *picked;
        int left;
    } cases[] = {
        {"list",                          "list", 0},
        {"-o json list x",                "list", 3},
        {"-ojson list",                   "list", 1},
        {"--output=json --no-color list", "list", 2},
        {"--address list get",            "get",  2},
        {"-- list",                       NULL,   2},
        {"-o json",                       NULL,   2},
        {"--address",                     NULL,   1},
        {"",                              NULL,   0},
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        char copy[256];
        char *argv[WORDS_MAX + 1] = {NULL};
        int argc = split(cases[i].line, copy, argv);
        const char *picked = cli_pick_word(&argc, argv);
        if (cases[i].picked)
            assert_string_equal(picked, cases[i].picked);
        else
            assert_null(picked);
        assert_int_equal(argc, cases[i].left);
    }
}

static void numbers_and_times_are_read_within_bounds(void **state)
{
    static const struct {
        const char *text;
        ty_status status;
        int64_t seconds;
    } times[] = {
        {"0",                           TY_OK,      0     },
        {"90",                          TY_OK,      90    },
        {"90s",                         TY_OK,      90    },
        {"15m",                         TY_OK,      900   },
        {"2h",                          TY_OK,      7200  },
        {"7d",                          TY_OK,      604800},
        {"",                            TY_INVALID, -7    },
        {"h",                           TY_INVALID, -7    },
        {"-1",                          TY_INVALID, -7    },
        {"1.5h",                        TY_INVALID, -7    },
        {"1w",                          TY_INVALID, -7    },
        {"8d",                          TY_INVALID, -7    },
        {"1 h",                         TY_INVALID, -7    },
        {"01",                          TY_INVALID, -7    },
        {"99999999999999999999999999h", TY_INVALID, -7    },
    };
    struct cli cli = {.command = &command};
    static const char *const words[] = {"a", "-n", "5", "-e", "x", NULL};
    int64_t value = 3;
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(times); i++) {
        int64_t seconds = -7;
        assert_int_equal(cli_read_seconds(times[i].text, 604800, &seconds), times[i].status);
        assert_int_equal(seconds, times[i].seconds);
    }
    assert_int_equal(parse(words, &cli.arguments), EXIT_DONE);
    assert_true(cli_number(&cli, "mode", 0, 9, &value));
    assert_int_equal(value, 3);
    assert_true(cli_number(&cli, "name", 0, 9, &value));
    assert_int_equal(value, 5);
    assert_false(cli_number(&cli, "name", 6, 9, &value));
    assert_false(cli_number(&cli, "epochs", 0, 9, &value));
    assert_int_equal(value, 5);
}

/* The tables themselves: names are unique, letters too, and no command hides a global option. */
static void check_options(const struct cli_command *each)
{
    const struct cli_option *tables[] = {each->options, each->shared, cli_global_options};
    for (size_t a = 0; a < UNIT_COUNT(tables); a++)
        for (const struct cli_option *one = tables[a]; one && one->name; one++)
            for (size_t b = a; b < UNIT_COUNT(tables); b++)
                for (const struct cli_option *two = tables[b]; two && two->name; two++) {
                    if (one == two)
                        continue;
                    assert_string_not_equal(one->name, two->name);
                    assert_false(one->letter && one->letter == two->letter);
                }
}

static void the_tables_of_commands_are_sound(void **state)
{
    (void)state;
    for (size_t i = 0; cli_commands[i]; i++) {
        const struct cli_command *each = cli_commands[i];
        assert_ptr_equal(cli_find_command(cli_commands, each->name), each);
        assert_true((each->run != NULL) != (each->children != NULL));
        check_options(each);
        for (size_t c = 0; each->children && each->children[c]; c++) {
            assert_true(ty_str_starts(each->children[c]->name, each->name));
            assert_non_null(each->children[c]->run);
            check_options(each->children[c]);
        }
    }
    assert_null(cli_find_command(cli_commands, "nothing"));
    assert_string_equal(cli_last_word("volumes create"), "create");
    assert_string_equal(cli_last_word("list"), "list");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_taken_apart),
        cmocka_unit_test(wrong_words_are_refused),
        cmocka_unit_test(help_may_be_asked_for_without_the_rest),
        cmocka_unit_test(more_than_fits_is_refused),
        cmocka_unit_test(the_command_may_stand_behind_global_options),
        cmocka_unit_test(numbers_and_times_are_read_within_bounds),
        cmocka_unit_test(the_tables_of_commands_are_sound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
