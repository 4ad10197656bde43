#include "unit.h"

#include "commands.h"
#include "spec.h"
#include "temporary.h"

#include "trainyard/base/file.h"

#include <stdio.h>
#include <stdlib.h>

enum { WORDS_MAX = 32 };

static int parse(struct cli *cli, const char *const *words)
{
    char *argv[WORDS_MAX + 1] = {NULL};
    int argc = 0;
    for (; words[argc]; argc++)
        argv[argc] = (char *)(uintptr_t)words[argc];
    *cli = (struct cli){.command = &command_submit};
    return cli_parse(&command_submit, argc, argv, &cli->arguments);
}

static void assert_json(const json_t *value, const char *text)
{
    char *dumped = json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
    assert_non_null(dumped);
    assert_string_equal(dumped, text);
    free(dumped);
}

static void names_are_made_from_files(void **state)
{
    static const struct {
        const char *path;
        const char *name;
    } cases[] = {
        {"train.py",                                           "train"    },
        {"/a/b/My_Net.v2.py",                                  "my-net-v2"},
        {"2024-mnist.py",                                      "mnist"    },
        {"___.py",                                             "job"      },
        {"",                                                   "job"      },
        {".py",                                                "py"       },
        {"a--b__c.sh",                                         "a-b-c"    },
        {"über.py",                                           "ber"      },
        {"x-.py",                                              "x"        },
        {"abcdefghijabcdefghijabcdefghijabcdefghijabcdefghij",
         "abcdefghijabcdefghijabcdefghijabcdefghijabc"                    },
    };
    char name[NAME_TEXT];
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        cli_name_from(cases[i].path, name);
        assert_string_equal(name, cases[i].name);
    }
}

/* What the script gets is what was typed, whatever JSON makes of it. */
static void parameters_keep_the_text_that_was_typed(void **state)
{
    static const struct {
        const char *text;
        const char *json;
    } cases[] = {
        {"3",                              "3"                                 },
        {"-1",                             "-1"                                },
        {"0.5",                            "0.5"                               },
        {"0.50",                           "\"0.50\""                          },
        {"1e-3",                           "\"1e-3\""                          },
        {"007",                            "\"007\""                           },
        {"true",                           "true"                              },
        {"false",                          "false"                             },
        {"True",                           "\"True\""                          },
        {"null",                           "\"null\""                          },
        {"",                               "\"\""                              },
        {"[1]",                            "\"[1]\""                           },
        {"\"a\"",                          "\"\\\"a\\\"\""                     },
        {"9007199254740991",               "9007199254740991"                  },
        {"9007199254740993",               "\"9007199254740993\""              },
        {"123456789012345678901234567890", "\"123456789012345678901234567890\""},
        {" 1",                             "\" 1\""                            },
        {"adam",                           "\"adam\""                          },
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        ty_auto_json value = cli_parameter_value(cases[i].text);
        assert_json(value, cases[i].json);
    }
    assert_null(cli_parameter_value("\xff"));
}

static void flags_set_their_members(void **state)
{
    struct cli cli;
    ty_auto_json spec = json_pack("{s:{s:s},s:{s:s}}", "labels", "a", "1", "resources", "cpu", "1");
    static const char *const words[] = {
        "--name", "n",        "--replicas=3",  "--memory", "2Gi",      "-p",      "lr=0.1",
        "-p",     "s=a=b",    "--env",         "E=",       "--label",  "b=2",     "--timeout",
        "2h",     "--resume", "--checkpoints", "c:x/y",    "--volume", "v:/m:ro", "--volume",
        "w:/n",   NULL};
    (void)state;
    assert_int_equal(parse(&cli, words), EXIT_DONE);
    assert_int_equal(cli_spec_flags(&cli, spec), EXIT_DONE);
    assert_json(spec, "{\"checkpoints\":{\"path\":\"x/y\",\"resume\":true,\"volume\":\"c\"},"
                      "\"env\":{\"E\":\"\"},\"labels\":{\"a\":\"1\",\"b\":\"2\"},\"name\":\"n\","
                      "\"parameters\":{\"lr\":0.10000000000000001,\"s\":\"a=b\"},\"replicas\":3,"
                      "\"resources\":{\"cpu\":\"1\",\"memory\":\"2Gi\"},\"timeout_seconds\":7200,"
                      "\"volumes\":[{\"claim\":\"v\",\"mount_path\":\"/m\",\"read_only\":true},"
                      "{\"claim\":\"w\",\"mount_path\":\"/n\"}]}");
}

static void checkpoints_are_said_in_four_ways(void **state)
{
    static const struct {
        const char *flag;
        const char *json;
    } cases[] = {
        {"--checkpoints=claim",       "{\"checkpoints\":{\"volume\":\"claim\"}}"                 },
        {"--checkpoints=claim:/at",   "{\"checkpoints\":{\"path\":\"/at\",\"volume\":\"claim\"}}"},
        {"--checkpoints=:runs/1",     "{\"checkpoints\":{\"path\":\"runs/1\"}}"                  },
        {"--checkpoints=/output/c:1", "{\"checkpoints\":{\"path\":\"/output/c:1\"}}"             },
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct cli cli;
        ty_auto_json spec = json_object();
        const char *words[] = {cases[i].flag, NULL};
        assert_int_equal(parse(&cli, words), EXIT_DONE);
        assert_int_equal(cli_spec_flags(&cli, spec), EXIT_DONE);
        assert_json(spec, cases[i].json);
    }
}

static void secrets_are_variables_or_files(void **state)
{
    static const struct {
        const char *flag;
        const char *json;
    } cases[] = {
        {"--secret=wandb:API_KEY",          "{\"key\":\"API_KEY\",\"name\":\"wandb\"}"          },
        {"--secret=wandb:api-key=W_KEY",
         "{\"env\":\"W_KEY\",\"key\":\"api-key\",\"name\":\"wandb\"}"                           },
        {"--secret=git:id=/run/secrets/id",
         "{\"key\":\"id\",\"name\":\"git\",\"path\":\"/run/secrets/id\"}"                       },
        {"--secret=a:b=/c:d=e",             "{\"key\":\"b\",\"name\":\"a\",\"path\":\"/c:d=e\"}"},
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct cli cli;
        ty_auto_json spec = json_object();
        const char *words[] = {cases[i].flag, NULL};
        assert_int_equal(parse(&cli, words), EXIT_DONE);
        assert_int_equal(cli_spec_flags(&cli, spec), EXIT_DONE);
        assert_json(json_array_get(json_object_get(spec, "secrets"), 0), cases[i].json);
    }
}

static void an_elastic_range_is_two_numbers(void **state)
{
    struct cli cli;
    ty_auto_json spec = json_object();
    const char *words[] = {"--elastic=1:3", NULL};
    (void)state;
    assert_int_equal(parse(&cli, words), EXIT_DONE);
    assert_int_equal(cli_spec_flags(&cli, spec), EXIT_DONE);
    assert_json(json_object_get(spec, "elastic"), "{\"max\":3,\"min\":1}");
}

static void wrong_values_are_misuse(void **state)
{
    static const char *const flags[] = {
        "--replicas=x",
        "--replicas=",
        "--timeout=soon",
        "--param=x",
        "--param==1",
        "--label=x",
        "--volume=claim",
        "--volume=:/x",
        "--secret=wandb",
        "--secret=:key",
        "--secret=wandb:",
        "--secret=wandb:=X",
        "--secret=wandb:key=",
        "--secret=wandb:key=\xff",
        "--elastic=3",
        "--elastic=:3",
        "--elastic=0:3",
        "--elastic=1:3:5",
        "--elastic=1:",
        "--elastic=1234567890123456789:2",
        "--env=NO_SUCH_VARIABLE_HERE",
        "--name=\xff",
        "--param=a=\xff",
        "--checkpoints=\xff",
        "--gpus=99999999999999999999",
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(flags); i++) {
        struct cli cli;
        ty_auto_json spec = json_object();
        const char *words[] = {flags[i], NULL};
        assert_int_equal(parse(&cli, words), EXIT_DONE);
        assert_int_equal(cli_spec_flags(&cli, spec), EXIT_USAGE);
    }
}

/* --- files --- */

static void write_file(const char *folder, const char *name, const char *bytes, size_t len)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, len, file), len);
    fclose(file);
}

static int read_source(const struct cli *cli, json_t *spec)
{
    struct cli_source source = {0};
    int code = cli_spec_source(cli, spec, &source);

    assert_false(source.manifest);
    cli_source_done(&source);
    return code;
}

static void sources_become_scripts_specs_and_files(void **state)
{
    char folder[TEMPORARY_PATH];
    struct ty_error err;
    struct cli cli;
    (void)state;
    ty_auto_fd fd = temporary_open(folder);
    assert_true(fd >= 0);
    write_file(folder, "train.py", "print(1)\n", 9);
    write_file(folder, "blob", "\x00\xff", 2);
    write_file(folder, "spec.yaml", "image: x\nreplicas: 2\n", 21);
    write_file(folder, "bad.json", "{\"a\":1,\"a\":2}", 13);
    write_file(folder, "list.json", "[1]", 3);
    assert_int_equal(chdir(folder), 0);

    static const char *const script[] = {"train.py", "--file", "blob", "--", "-x", "", NULL};
    ty_auto_json spec = json_object();
    assert_int_equal(parse(&cli, script), EXIT_DONE);
    assert_int_equal(read_source(&cli, spec), EXIT_DONE);
    assert_json(spec, "{\"args\":[\"-x\",\"\"],\"files\":[{\"content\":\"AP8=\",\"encoding\":"
                      "\"base64\",\"path\":\"blob\"}],\"name\":\"train\",\"script\":{\"content\":"
                      "\"print(1)\\n\",\"name\":\"train.py\"}}");

    static const char *const yaml[] = {"spec.yaml", NULL};
    ty_auto_json from_yaml = json_object();
    assert_int_equal(parse(&cli, yaml), EXIT_DONE);
    assert_int_equal(read_source(&cli, from_yaml), EXIT_DONE);
    assert_json(from_yaml, "{\"image\":\"x\",\"replicas\":2}");

    static const struct {
        const char *words[6];
        int code;
    } wrong[] = {
        {{"blob"},                             EXIT_USAGE     },
        {{"bad.json"},                         EXIT_USAGE     },
        {{"list.json"},                        EXIT_USAGE     },
        {{"missing.py"},                       EXIT_JOB_FAILED},
        {{"."},                                EXIT_JOB_FAILED},
        {{"train.py", "--file", "missing"},    EXIT_JOB_FAILED},
        {{"train.py", "spec.yaml"},            EXIT_USAGE     },
        {{"train.py", "--command", "--", "x"}, EXIT_USAGE     },
        {{"--command"},                        EXIT_USAGE     },
        {{"--", "x"},                          EXIT_USAGE     },
    };
    for (size_t i = 0; i < UNIT_COUNT(wrong); i++) {
        ty_auto_json refused = json_object();
        assert_int_equal(parse(&cli, wrong[i].words), EXIT_DONE);
        assert_int_equal(read_source(&cli, refused), wrong[i].code);
    }
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(ty_tree_remove(AT_FDCWD, folder, &err), TY_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_made_from_files),
        cmocka_unit_test(parameters_keep_the_text_that_was_typed),
        cmocka_unit_test(flags_set_their_members),
        cmocka_unit_test(checkpoints_are_said_in_four_ways),
        cmocka_unit_test(secrets_are_variables_or_files),
        cmocka_unit_test(an_elastic_range_is_two_numbers),
        cmocka_unit_test(wrong_values_are_misuse),
        cmocka_unit_test(sources_become_scripts_specs_and_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
