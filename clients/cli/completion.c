/* Completion scripts for bash, zsh and fish, made from the tables of commands and options. Names of
 * jobs and volumes are asked from the gateway at the time, in one short try. */
#include "commands.h"

#include <stdio.h>

/* Whether an option's value is a file's or a folder's name. */
static bool takes_path(const struct cli_option *option)
{
    static const char *const values[] = {"FILE", "PATH", "DIR"};
    for (size_t i = 0; option->value && i < sizeof values / sizeof values[0]; i++)
        if (ty_str_equal(option->value, values[i]))
            return true;
    return false;
}

/* --- bash --- */

static const char bash_head[] =
    "# bash completion for trainyard: eval \"$(trainyard completion bash)\"\n"
    "_trainyard_list() {\n"
    "    TRAINYARD_COMPLETING=1 \"${COMP_WORDS[0]}\" \"$@\" --no-color 2>/dev/null\n"
    "}\n"
    "_trainyard_jobs() {\n"
    "    local id name\n"
    "    _trainyard_list list --limit 200 -o table | while read -r id name _; do\n"
    "        [ \"$id\" = ID ] || printf '%s\\n%s\\n' \"$id\" \"$name\"\n"
    "    done\n"
    "}\n"
    "_trainyard() {\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command='' i\n"
    "    COMPREPLY=()\n"
    "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
    "        case ${COMP_WORDS[i]} in\n";

static const char bash_tail[] = "    esac\n"
                                "}\n"
                                "complete -o bashdefault -F _trainyard trainyard\n";

static void bash_global_values(void)
{
    const char *between = "        ";
    for (const struct cli_option *option = cli_global_options; option->name; option++) {
        if (!option->value)
            continue;
        printf("%s--%s", between, option->name);
        if (option->letter)
            printf(" | -%c", option->letter);
        between = " | ";
    }
    puts(") ((i++)) ;;");
}

/* Which words make a command: the first, and after a family's name the second. */
static void bash_command_words(void)
{
    fputs("        -*) ;;\n        *)\n            case $command in\n            '') "
          "command=${COMP_WORDS[i]} ;;\n            ",
          stdout);
    const char *between = "";
    for (size_t i = 0; cli_commands[i]; i++)
        if (cli_commands[i]->children) {
            printf("%s%s", between, cli_commands[i]->name);
            between = " | ";
        }
    puts(") command+=\" ${COMP_WORDS[i]}\" ;;\n            esac\n            ;;\n        esac\n"
         "    done");
}

static void bash_values(const char *command, const struct cli_option *options)
{
    for (const struct cli_option *option = options; option && option->name; option++) {
        if (!option->value)
            continue;
        printf("    '%s:--%s'", command, option->name);
        if (option->letter)
            printf(" | '%s:-%c'", command, option->letter);
        if (option->choices)
            printf(") COMPREPLY=($(compgen -W '%s' -- \"$cur\")); return ;;\n", option->choices);
        else
            printf(") %sreturn ;;\n",
                   takes_path(option) ? "COMPREPLY=($(compgen -f -- \"$cur\")); " : "");
    }
}

static void bash_names(const struct cli_command *const *commands)
{
    for (; *commands; commands++)
        printf(" %s", cli_last_word((*commands)->name));
}

static void bash_options(const struct cli_option *options)
{
    for (; options && options->name; options++)
        printf(" --%s", options->name);
}

static void bash_plain_words(const struct cli_command *command)
{
    fputs("        *) COMPREPLY=($(compgen ", stdout);
    if (command->words == WORDS_FILES)
        fputs("-f ", stdout);
    fputs("-W \"", stdout);
    if (command->words_given)
        printf("%s ", command->words_given);
    if (command->children)
        bash_names(command->children);
    else if (command->words == WORDS_JOBS)
        fputs("$(_trainyard_jobs)", stdout);
    else if (command->words == WORDS_VOLUMES)
        fputs("$(_trainyard_list volumes list -o name)", stdout);
    else if (command->words == WORDS_COMMANDS)
        bash_names(cli_commands);
    puts("\" -- \"$cur\")) ;;");
}

static void bash_command(const struct cli_command *command)
{
    printf("    '%s')\n        case $cur in\n        -*) COMPREPLY=($(compgen -W '", command->name);
    bash_options(command->options);
    bash_options(command->shared);
    bash_options(cli_global_options);
    puts("' -- \"$cur\")) ;;");
    bash_plain_words(command);
    puts("        esac\n        ;;");
}

static void each_command(void (*visit)(const struct cli_command *command))
{
    for (size_t i = 0; cli_commands[i]; i++) {
        const struct cli_command *const *children = cli_commands[i]->children;
        visit(cli_commands[i]);
        for (; children && *children; children++)
            visit(*children);
    }
}

static void bash_command_values(const struct cli_command *command)
{
    bash_values(command->name, command->options);
    bash_values(command->name, command->shared);
}

static void print_bash(void)
{
    fputs(bash_head, stdout);
    bash_global_values();
    bash_command_words();
    puts("    case $command:$prev in");
    each_command(bash_command_values);
    puts("    esac\n    case $prev in\n    --output | -o) COMPREPLY=($(compgen -W 'table wide json "
         "yaml name' -- \"$cur\")); return ;;\n    --data | --token-file) COMPREPLY=($(compgen -f "
         "-- \"$cur\")); return ;;\n    --address | --tenant) return ;;\n    esac\n    case "
         "$command in");
    fputs("    '') COMPREPLY=($(compgen -W '", stdout);
    bash_names(cli_commands);
    bash_options(cli_global_options);
    puts("' -- \"$cur\")) ;;");
    each_command(bash_command);
    fputs(bash_tail, stdout);
}

/* --- zsh --- */

/* Text within '…[…]…': quotes, brackets and colons would end it. */
static void zsh_text(const char *text)
{
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", stdout);
        else if (strchr("[]:\\", *text))
            printf("\\%c", *text);
        else
            putchar(*text);
    }
}

static void zsh_options(const struct cli_option *options)
{
    for (; options && options->name; options++) {
        printf(" \\\n            '%s--%s%s[", options->many ? "*" : "", options->name,
               options->value ? "=" : "");
        zsh_text(options->help);
        putchar(']');
        if (options->choices)
            printf(":%s:(%s)", options->value, options->choices);
        else if (options->value)
            printf(":%s:%s", options->value, takes_path(options) ? "_files" : " ");
        putchar('\'');
    }
}

static void zsh_described(const struct cli_command *const *commands)
{
    fputs("local -a names=(", stdout);
    for (; *commands; commands++) {
        printf("'%s:", cli_last_word((*commands)->name));
        zsh_text((*commands)->help);
        fputs("' ", stdout);
    }
    puts("); _describe command names");
}

static void zsh_plain_words(const struct cli_command *command)
{
    static const char *const actions[] = {
        [WORDS_NONE] = " ",
        [WORDS_JOBS] = "_trainyard_jobs",
        [WORDS_FILES] = "_files",
        [WORDS_VOLUMES] = "_trainyard_volumes",
        [WORDS_COMMANDS] = "_trainyard_commands",
    };
    if (command->words_given && command->words == WORDS_NONE)
        printf(" \\\n            '*:word:(%s)'", command->words_given);
    else
        printf(" \\\n            '*:word:%s'", actions[command->words]);
}

static void zsh_command(const struct cli_command *command)
{
    if (command->children)
        return;
    printf("    '%s')\n        _arguments", command->name);
    zsh_options(command->options);
    zsh_options(command->shared);
    zsh_options(cli_global_options);
    zsh_plain_words(command);
    puts("\n        ;;");
}

/* A family's name is joined with the next word, so that one table of commands serves both. */
static void zsh_families(void)
{
    for (size_t i = 0; cli_commands[i]; i++) {
        if (!cli_commands[i]->children)
            continue;
        printf("    %s)\n        if ((CURRENT == 3)); then\n            ", cli_commands[i]->name);
        zsh_described(cli_commands[i]->children);
        puts("            return\n        fi\n        command=\"$words[2] $words[3]\"\n        "
             "words=("
             "\"$command\" \"${(@)words[4,-1]}\")\n        ((CURRENT -= 2))\n        ;;");
    }
}

static void print_zsh(void)
{
    fputs("#compdef trainyard\n"
          "# zsh completion for trainyard: source <(trainyard completion zsh)\n"
          "_trainyard_jobs() {\n"
          "    local -a jobs\n"
          "    jobs=(${(f)\"$(TRAINYARD_COMPLETING=1 trainyard list --limit 200 --no-color "
          "2>/dev/null | while read -r id name rest; do [[ $id == ID ]] || print -l -- $id $name; "
          "done)\"})\n"
          "    compadd -- $jobs\n"
          "}\n"
          "_trainyard_volumes() {\n"
          "    compadd -- ${(f)\"$(TRAINYARD_COMPLETING=1 trainyard volumes list -o name "
          "2>/dev/null)\"}\n"
          "}\n"
          "_trainyard_commands() {\n    ",
          stdout);
    zsh_described(cli_commands);
    puts("}\n"
         "_trainyard() {\n"
         "    local command=$words[2]\n"
         "    if ((CURRENT == 2)); then\n"
         "        _trainyard_commands\n"
         "        return\n"
         "    fi\n"
         "    case $command in");
    zsh_families();
    puts("    *)\n        words=(\"${(@)words[2,-1]}\")\n        ((CURRENT -= 1))\n        ;;\n"
         "    esac\n    case $command in");
    each_command(zsh_command);
    puts("    esac\n}\n"
         "if [[ $funcstack[1] == _trainyard ]]; then\n    _trainyard \"$@\"\nelse\n    compdef "
         "_trainyard trainyard\nfi");
}

/* --- fish --- */

static void fish_text(const char *text)
{
    putchar('\'');
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\')
            putchar('\\');
        putchar(*text);
    }
    putchar('\'');
}

static void fish_options(const char *condition, const struct cli_option *options)
{
    for (; options && options->name; options++) {
        printf("complete -c trainyard%s -l %s", condition, options->name);
        if (options->letter)
            printf(" -s %c", options->letter);
        if (options->value)
            fputs(takes_path(options) ? " -r -F" : " -x", stdout);
        if (options->choices)
            printf(" -a '%s'", options->choices);
        fputs(" -d ", stdout);
        fish_text(options->help);
        putchar('\n');
    }
}

static void fish_name(const char *condition, const struct cli_command *command)
{
    printf("complete -c trainyard -f -n '%s' -a %s -d ", condition, cli_last_word(command->name));
    fish_text(command->help);
    putchar('\n');
}

static void fish_command(const struct cli_command *command)
{
    static const char *const words[] = {
        [WORDS_JOBS] = "(__trainyard_jobs)",
        [WORDS_VOLUMES] = "(__trainyard_volumes)",
    };
    char condition[128];
    const char *blank = strchr(command->name, ' ');
    if (blank)
        snprintf(condition, sizeof condition,
                 "__fish_seen_subcommand_from %.*s; and __fish_seen_subcommand_from %s",
                 (int)(blank - command->name), command->name, blank + 1);
    else
        snprintf(condition, sizeof condition, "__fish_seen_subcommand_from %s%s", command->name,
                 command->children ? "" : "; and not __trainyard_in_family");
    for (size_t i = 0; command->children && command->children[i]; i++)
        fish_name(condition, command->children[i]);
    if (command->words == WORDS_JOBS || command->words == WORDS_VOLUMES)
        printf("complete -c trainyard -f -n '%s' -a '%s'\n", condition, words[command->words]);
    if (command->words == WORDS_FILES)
        printf("complete -c trainyard -F -n '%s'\n", condition);
    if (command->words_given)
        printf("complete -c trainyard -f -n '%s' -a '%s'\n", condition, command->words_given);
    char option_condition[160];
    snprintf(option_condition, sizeof option_condition, " -n '%s'", condition);
    fish_options(option_condition, command->options);
    fish_options(option_condition, command->shared);
}

static void print_fish(void)
{
    puts(
        "# fish completion for trainyard: trainyard completion fish | source\n"
        "function __trainyard_jobs\n"
        "    TRAINYARD_COMPLETING=1 trainyard list --limit 200 --no-color 2>/dev/null | while read "
        "-l id name rest\n"
        "        test $id = ID; or printf '%s\\n%s\\n' $id $name\n"
        "    end\n"
        "end\n"
        "function __trainyard_volumes\n"
        "    TRAINYARD_COMPLETING=1 trainyard volumes list -o name 2>/dev/null\n"
        "end\n"
        "function __trainyard_in_family");
    fputs("    __fish_seen_subcommand_from", stdout);
    for (size_t i = 0; cli_commands[i]; i++)
        if (cli_commands[i]->children)
            printf(" %s", cli_commands[i]->name);
    puts("\nend\ncomplete -c trainyard -f");
    for (size_t i = 0; cli_commands[i]; i++)
        fish_name("__fish_use_subcommand", cli_commands[i]);
    fish_options("", cli_global_options);
    each_command(fish_command);
}

int cli_print_completion(const char *shell)
{
    static const struct {
        const char *shell;
        void (*print)(void);
    } scripts[] = {
        {"bash", print_bash},
        {"zsh",  print_zsh },
        {"fish", print_fish}
    };
    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++)
        if (ty_str_equal(shell, scripts[i].shell)) {
            scripts[i].print();
            return EXIT_DONE;
        }
    return cli_misuse("no completion for %s, only for bash, zsh and fish", shell);
}

static int run_completion(struct cli *cli)
{
    return cli_print_completion(cli->arguments.plain[0]);
}

const struct cli_command command_completion = {
    .name = "completion",
    .usage = "bash|zsh|fish",
    .help = "Print a completion script for your shell",
    .more = "bash: eval \"$(trainyard completion bash)\" in ~/.bashrc\n"
            "zsh:  source <(trainyard completion zsh) in ~/.zshrc, after compinit\n"
            "fish: trainyard completion fish | source in ~/.config/fish/config.fish",
    .run = run_completion,
    .least = 1,
    .most = 1,
    .words_given = "bash zsh fish",
    .local = true,
};
