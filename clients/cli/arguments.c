/* Taking a command line apart by tables of options. */
#include "cli.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* One line, whole, also when another thread writes. */
static void say(const char *format, va_list list) __attribute__((format(printf, 1, 0)));

static void say(const char *format, va_list list)
{
    flockfile(stderr);
    fputs("trainyard: ", stderr);
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
    funlockfile(stderr);
}

void cli_say(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    say(format, list);
    va_end(list);
}

int cli_misuse(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    say(format, list);
    va_end(list);
    return EXIT_USAGE;
}

const char *cli_last_word(const char *name)
{
    const char *blank = strrchr(name, ' ');
    return blank ? blank + 1 : name;
}

const struct cli_command *cli_find_command(const struct cli_command *const *commands,
                                           const char *name)
{
    for (; *commands; commands++)
        if (ty_str_equal(cli_last_word((*commands)->name), name))
            return *commands;
    return NULL;
}

/* `name` is a long name of `len` bytes, or NULL with `letter`. */
static const struct cli_option *find_in(const struct cli_option *options, const char *name,
                                        size_t len, char letter)
{
    for (const struct cli_option *option = options; option && option->name; option++)
        if (name ? strlen(option->name) == len && memcmp(option->name, name, len) == 0
                 : option->letter == letter && letter != 0)
            return option;
    return NULL;
}

static const struct cli_option *find_option(const struct cli_command *command, const char *name,
                                            size_t len, char letter)
{
    const struct cli_option *option = find_in(command->options, name, len, letter);
    if (!option)
        option = find_in(command->shared, name, len, letter);
    return option ? option : find_in(cli_global_options, name, len, letter);
}

static bool given_before(const struct cli_arguments *out, const struct cli_option *option)
{
    for (size_t i = 0; i < out->given_count; i++)
        if (out->given[i].option == option)
            return true;
    return false;
}

static bool is_choice(const char *choices, const char *value)
{
    size_t len = strlen(value);
    for (const char *at = choices; *at; at += strspn(at, " ")) {
        size_t choice_len = strcspn(at, " ");
        if (choice_len == len && memcmp(at, value, len) == 0)
            return true;
        at += choice_len;
    }
    return false;
}

static bool takes_value(const char *word)
{
    bool is_long = word[1] == '-';
    size_t len = is_long ? strcspn(word + 2, "=") : 0;
    const struct cli_option *option =
        find_in(cli_global_options, is_long ? word + 2 : NULL, len, is_long ? 0 : word[1]);
    bool attached = is_long ? word[2 + len] == '=' : word[2] != '\0';
    return option && option->value && !attached;
}

const char *cli_pick_word(int *argc, char **argv)
{
    for (int i = 0; i < *argc && !ty_str_equal(argv[i], "--"); i++) {
        if (argv[i][0] == '-' && argv[i][1] != '\0') {
            i += takes_value(argv[i]);
            continue;
        }
        const char *word = argv[i];
        memmove(argv + i, argv + i + 1, (size_t)(*argc - i - 1) * sizeof *argv);
        *argc -= 1;
        return word;
    }
    return NULL;
}

/* One word that begins with '-': "--name", "--name=value", "--name value", "-o value", "-ovalue".
 */
static int parse_option(const struct cli_command *command, char **argv, int argc, int *index,
                        struct cli_arguments *out)
{
    const char *word = argv[*index];
    bool is_long = word[1] == '-';
    const char *name = is_long ? word + 2 : NULL;
    size_t len = is_long ? strcspn(name, "=") : 0;
    const struct cli_option *option = find_option(command, name, len, is_long ? 0 : word[1]);
    const char *attached =
        is_long ? (name[len] == '=' ? name + len + 1 : NULL) : (word[2] ? word + 2 : NULL);
    if (!option)
        return cli_misuse("%s has no option %s (see trainyard help %s)", command->name, word,
                          command->name);
    if (!option->value && attached)
        return cli_misuse("--%s takes no value", option->name);
    if (option->value && !attached) {
        if (*index + 1 >= argc)
            return cli_misuse("--%s needs a value", option->name);
        *index += 1;
        attached = argv[*index];
    }
    if (option->choices && attached && !is_choice(option->choices, attached))
        return cli_misuse("--%s must be one of: %s", option->name, option->choices);
    if (!option->many && given_before(out, option))
        return cli_misuse("--%s was given twice", option->name);
    if (out->given_count == GIVEN_MAX)
        return cli_misuse("too many options");
    out->given[out->given_count++] = (struct cli_given){option, attached ? attached : ""};
    return EXIT_DONE;
}

static bool asks_for_help(const struct cli_arguments *arguments)
{
    for (size_t i = 0; i < arguments->given_count; i++)
        if (ty_str_equal(arguments->given[i].option->name, "help"))
            return true;
    return false;
}

int cli_parse(const struct cli_command *command, int argc, char **argv, struct cli_arguments *out)
{
    bool options_end = false;
    *out = (struct cli_arguments){.rest = SIZE_MAX};
    for (int i = 0; i < argc; i++) {
        if (!options_end && ty_str_equal(argv[i], "--")) {
            options_end = true;
            out->rest = out->plain_count;
        } else if (!options_end && argv[i][0] == '-' && argv[i][1] != '\0') {
            int code = parse_option(command, argv, argc, &i, out);
            if (code != EXIT_DONE)
                return code;
        } else if (out->plain_count == ARGUMENTS_MAX) {
            return cli_misuse("too many arguments");
        } else {
            out->plain[out->plain_count++] = argv[i];
        }
    }
    if (out->rest > out->plain_count)
        out->rest = out->plain_count;
    if (!asks_for_help(out) &&
        (out->plain_count < command->least || out->plain_count > command->most))
        return cli_misuse("usage: trainyard %s %s", command->name, command->usage);
    return EXIT_DONE;
}

const char *cli_nth(const struct cli *cli, const char *name, size_t index)
{
    for (size_t i = 0; i < cli->arguments.given_count; i++)
        if (ty_str_equal(cli->arguments.given[i].option->name, name) && index-- == 0)
            return cli->arguments.given[i].value;
    return NULL;
}

const char *cli_value(const struct cli *cli, const char *name)
{
    return cli_nth(cli, name, 0);
}

bool cli_number(const struct cli *cli, const char *name, int64_t min, int64_t max, int64_t *value)
{
    const char *text = cli_value(cli, name);
    if (!text || ty_str_to_int(text, min, max, value) == TY_OK)
        return true;
    if (max == INT64_MAX)
        cli_say("--%s must be a whole number, at least %" PRId64, name, min);
    else
        cli_say("--%s must be a whole number from %" PRId64 " to %" PRId64, name, min, max);
    return false;
}

ty_status cli_read_seconds(const char *text, int64_t max, int64_t *value_out)
{
    static const char letters[] = "smhd";
    static const int64_t seconds[] = {1, 60, 3600, 86400};
    char digits[24];
    int64_t number;
    size_t len = strlen(text);
    const char *letter = len > 0 ? strchr(letters, text[len - 1]) : NULL;
    int64_t unit = letter ? seconds[letter - letters] : 1;
    if (letter)
        len--;
    if (len >= sizeof digits)
        return TY_INVALID;
    memcpy(digits, text, len);
    digits[len] = '\0';
    ty_status status = ty_str_to_int(digits, 0, max / unit, &number);
    if (status == TY_OK)
        *value_out = number * unit;
    return status;
}

bool cli_seconds(const struct cli *cli, const char *name, int64_t max, int64_t *value)
{
    const char *text = cli_value(cli, name);
    if (!text || cli_read_seconds(text, max, value) == TY_OK)
        return true;
    cli_say("--%s must be a time such as 90, 15m, 2h or 7d", name);
    return false;
}
