/* Every allocation of making a spec fails in turn: the client says so, or the spec is whole. */
#include "unit.h"

#include "commands.h"
#include "oom.h"
#include "spec.h"

#include <stdlib.h>

static const char whole[] =
    "{\"checkpoints\":{\"path\":\"x\",\"resume\":true,\"volume\":\"c\"},\"command\":[\"prog\","
    "\"-x\"],\"labels\":{\"b\":\"2\"},\"name\":\"n\",\"parameters\":{\"k\":3,\"s\":\"01\"},"
    "\"resources\":{\"memory\":\"2Gi\"},\"volumes\":[{\"claim\":\"v\",\"mount_path\":\"/m\","
    "\"read_only\":true}]}";

static void make_spec(void *context)
{
    const struct cli *cli = context;
    ty_auto_json spec = json_object();
    struct cli_source source = {0};
    int code = spec ? cli_spec_source(cli, spec, &source) : EXIT_JOB_FAILED;
    cli_source_done(&source);
    if (code == EXIT_DONE)
        code = cli_spec_flags(cli, spec);
    if (!ty_oom_failed())
        assert_int_equal(code, EXIT_DONE);
    if (code != EXIT_DONE)
        return;
    ty_oom_pause();
    char *text = json_dumps(spec, JSON_COMPACT | JSON_SORT_KEYS);
    assert_string_equal(text, whole);
    free(text);
    ty_oom_resume();
}

static void every_allocation_of_making_a_spec_may_fail(void **state)
{
    static const char *const words[] = {
        "--name",  "n",    "--memory", "2Gi",           "-p",  "k=3",      "-p",      "s=01",
        "--label", "b=2",  "--resume", "--checkpoints", "c:x", "--volume", "v:/m:ro", "--command",
        "--",      "prog", "-x"};
    char *argv[UNIT_COUNT(words)];
    static struct cli cli;
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(words); i++)
        argv[i] = (char *)(uintptr_t)words[i];
    cli.command = &command_submit;
    assert_int_equal(cli_parse(&command_submit, (int)UNIT_COUNT(words), argv, &cli.arguments),
                     EXIT_DONE);
    assert_true(ty_oom_sweep(make_spec, &cli) > 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_of_making_a_spec_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
