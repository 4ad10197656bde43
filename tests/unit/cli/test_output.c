/* Tables, JSON, YAML and names against golden files. TRAINYARD_GOLDEN_UPDATE=1 writes them anew. */
#include "unit.h"

#include "jobs.h"
#include "output.h"

#include "trainyard/base/file.h"
#include "trainyard/base/json.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

static const char first_page[] =
    "[{\"id\":\"job_01j9z3k4m5n6p7q8r9s0t1v2w3\",\"name\":\"mnist\",\"state\":\"succeeded\","
    "\"replicas\":3,\"gpus\":1,\"created_at\":\"2026-01-02T03:04:05.000006Z\","
    "\"duration_seconds\":7500,\"cause\":\"completed\",\"priority\":0,\"restarts\":2,"
    "\"tenant\":\"default\",\"image\":\"pytorch/pytorch:2.0.0\",\"labels\":{\"team\":\"vision\"}},"
    "{\"id\":\"job_01j9z3k4m5n6p7q8r9s0t1v2w4\",\"name\":\"a-rather-long-name\","
    "\"state\":\"queued\",\"replicas\":1,\"gpus\":0,\"created_at\":\"2026-01-02T03:04:06.5Z\","
    "\"duration_seconds\":null,\"cause\":\"waiting_for_capacity\",\"queue_position\":12,"
    "\"priority\":-5,\"restarts\":0,\"tenant\":\"default\",\"image\":\"x\",\"labels\":{}}]";

static const char second_page[] =
    "[{\"id\":\"job_01j9z3k4m5n6p7q8r9s0t1v2w5\",\"name\":\"a-still-much-longer-name-than-that\","
    "\"state\":\"failed\",\"replicas\":1,\"gpus\":0,\"created_at\":\"2026-01-02T03:04:07.000000Z\","
    "\"duration_seconds\":0,\"labels\":{},\"warnings\":[{\"code\":\"x\"}]}]";

static const struct cli_column file_columns[] = {
    {"PATH",    "path",    SHOW_TEXT, 12, false},
    {"SIZE",    "size",    SHOW_SIZE, 0,  false},
    {"MESSAGE", "message", SHOW_TEXT, 0,  true },
    {NULL,      NULL,      SHOW_TEXT, 0,  false},
};

static const char files[] =
    "[{\"path\":\"äöü.pth\",\"size\":1536,\"message\":\"m\"},"
    "{\"path\":\"checkpoints/epoch-0001.pt\",\"size\":3000000000,\"message\":\"\\u001b[2J\"}]";

static json_t *parse(const char *text)
{
    struct ty_error err;
    json_t *value = NULL;
    assert_int_equal(ty_json_parse(text, strlen(text), &value, &err), TY_OK);
    return value;
}

static void assert_golden(const char *name, const char *text)
{
    struct ty_error err;
    char path[1024];
    ty_auto_buf golden = {0};
    ty_buf_init(&golden, 1024 * 1024);
    snprintf(path, sizeof path, "%s/%s", GOLDEN, name);
    if (getenv("TRAINYARD_GOLDEN_UPDATE"))
        assert_int_equal(ty_file_write(AT_FDCWD, path, text, strlen(text), 0644, &err), TY_OK);
    assert_int_equal(ty_file_read(AT_FDCWD, path, &golden, &err), TY_OK);
    assert_string_equal(text, golden.len > 0 ? golden.data : "");
}

static void check_listing(const struct cli *cli, const struct cli_column *columns,
                          const char *const *pages, const char *golden)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    struct cli_listing listing = {.cli = cli, .columns = columns, .out = out};
    listing.name = columns == file_columns ? "path" : "id";
    assert_non_null(out);
    for (; *pages; pages++) {
        ty_auto_json page = parse(*pages);
        cli_listing_add(&listing, page);
    }
    assert_int_equal(cli_listing_end(&listing), EXIT_DONE);
    fclose(out);
    assert_golden(golden, text);
    free(text);
}

static const char *const jobs[] = {first_page, second_page, NULL};
static const char *const nothing[] = {"[]", NULL};
static const char *const paths[] = {files, NULL};

static void lists_are_printed_in_every_format(void **state)
{
    static const struct {
        output_format format;
        bool color;
        const struct cli_column *columns;
        const char *const *pages;
        const char *golden;
    } cases[] = {
        {FORMAT_TABLE, false, job_columns,  jobs,    "jobs.table"   },
        {FORMAT_WIDE,  false, job_columns,  jobs,    "jobs.wide"    },
        {FORMAT_TABLE, true,  job_columns,  jobs,    "jobs.color"   },
        {FORMAT_JSON,  true,  job_columns,  jobs,    "jobs.json"    },
        {FORMAT_YAML,  true,  job_columns,  jobs,    "jobs.yaml"    },
        {FORMAT_NAME,  true,  job_columns,  jobs,    "jobs.name"    },
        {FORMAT_TABLE, false, job_columns,  nothing, "nothing.table"},
        {FORMAT_JSON,  false, job_columns,  nothing, "nothing.json" },
        {FORMAT_YAML,  false, job_columns,  nothing, "nothing.yaml" },
        {FORMAT_NAME,  false, job_columns,  nothing, "nothing.name" },
        {FORMAT_TABLE, false, file_columns, paths,   "files.table"  },
        {FORMAT_WIDE,  false, file_columns, paths,   "files.wide"   },
        {FORMAT_NAME,  false, file_columns, paths,   "files.name"   },
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct cli cli = {.format = cases[i].format, .color = cases[i].color};
        check_listing(&cli, cases[i].columns, cases[i].pages, cases[i].golden);
    }
}

static void pages_of_json_and_yaml_are_one_list(void **state)
{
    static const char *const all[] = {first_page, "[]", second_page, NULL};
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    struct cli cli = {.format = FORMAT_JSON};
    struct cli_listing listing = {.cli = &cli, .columns = job_columns, .name = "id", .out = out};
    (void)state;
    for (size_t i = 0; all[i]; i++) {
        ty_auto_json page = parse(all[i]);
        cli_listing_add(&listing, page);
    }
    assert_int_equal(cli_listing_end(&listing), EXIT_DONE);
    fclose(out);
    ty_auto_json whole = parse(text);
    assert_int_equal(json_array_size(whole), 3);
    free(text);
}

static void an_output_that_is_full_is_a_failure(void **state)
{
    FILE *full = fopen("/dev/full", "w");
    struct cli cli = {.format = FORMAT_TABLE};
    struct cli_listing listing = {.cli = &cli, .columns = job_columns, .name = "id", .out = full};
    ty_auto_json page = parse(first_page);
    (void)state;
    assert_non_null(full);
    cli_listing_add(&listing, page);
    assert_int_equal(cli_listing_end(&listing), EXIT_JOB_FAILED);
    fclose(full);
}

static void states_have_colours_only_when_wanted(void **state)
{
    (void)state;
    assert_string_equal(cli_color(true, "succeeded"), "\033[32m");
    assert_string_equal(cli_color(true, "failed"), "\033[31m");
    assert_null(cli_color(true, "mnist"));
    assert_null(cli_color(false, "succeeded"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_printed_in_every_format),
        cmocka_unit_test(pages_of_json_and_yaml_are_one_list),
        cmocka_unit_test(an_output_that_is_full_is_a_failure),
        cmocka_unit_test(states_have_colours_only_when_wanted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
