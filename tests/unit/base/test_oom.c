#include "unit.h"

#include "oom.h"
#include "trainyard/base/digest.h"
#include "trainyard/base/json.h"
#include "trainyard/base/map.h"
#include "trainyard/base/queue.h"
#include "trainyard/base/scope.h"
#include "trainyard/base/thread.h"
#include "trainyard/base/yaml.h"

/* Every module of this room that takes memory, with each allocation failing in turn. A call may
 * fail only when an allocation did, says so with TY_NO_MEMORY, and leaves its output and (under a
 * sanitizer) no memory behind. */

static void fill_buffer(void *context)
{
    ty_auto_buf buf = {0};
    char *taken;

    (void)context;
    ty_buf_init(&buf, 100000);
    for (int i = 0; i < 50; i++) {
        ty_buf_addf(&buf, "%0300d", i);
        ty_buf_adds(&buf, "text");
    }
    ty_oom_expect(ty_buf_check(&buf, "buffer", NULL));
    taken = ty_buf_take(&buf, NULL);
    assert_int_equal(taken == NULL, buf.failed == TY_NO_MEMORY);
    free(taken);
    ty_buf_done(&buf);
    taken = ty_buf_take(&buf, NULL);
    if (!ty_oom_failed())
        assert_string_equal(taken, "");
    free(taken);
}

static void parse_json(void *context)
{
    static const char text[] =
        "{\"name\":\"a\",\"list\":[1,2.5,\"x\",null,true,{\"a\":{},\"b\":[]}],\"text\":\"\\u00e9 "
        "long "
        "enough to need more room than a first allocation gives it\",\"k1\":1,\"k2\":2,\"k3\":3,"
        "\"k4\":4,\"k5\":5,\"k6\":6,\"k7\":7,\"k8\":8,\"k9\":9}";
    json_t *json = NULL;
    struct ty_error err;
    ty_status status;

    (void)context;
    status = ty_json_parse(text, strlen(text), &json, &err);
    /* Where jansson finds no memory for a token it says that the token is not JSON: it cannot be
     * told apart. */
    ty_oom_expect(status == TY_INVALID && ty_oom_failed() ? TY_NO_MEMORY : status);
    assert_int_equal(json == NULL, status != TY_OK);
    json_decref(json);
}

static void parse_yaml(void *context)
{
    static const char text[] = "a: &x [1, 2.5, ~, yes, {b: c}]\nd: *x\ne: |\n  text\n  more\n"
                               "f: &y \"quoted\"\n? *y\n: !!str 1\n";
    json_t *json = NULL;
    struct ty_error err;
    ty_status status;

    (void)context;
    status = ty_yaml_parse(text, strlen(text), &json, &err);
    ty_oom_expect(status);
    assert_int_equal(json == NULL, status != TY_OK);
    json_decref(json);
}

static void write_both(void *context)
{
    const json_t *value = context;
    struct ty_json_writer writer;
    ty_auto_buf json = {0};
    ty_auto_buf yaml = {0};

    ty_buf_init(&json, 100000);
    ty_json_writer_init(&writer, &json);
    ty_json_value(&writer, value);
    ty_oom_expect(ty_buf_check(&json, "json", NULL));
    ty_buf_init(&yaml, 100000);
    ty_yaml_write(&yaml, value);
    ty_oom_expect(ty_buf_check(&yaml, "yaml", NULL));
}

static int released;

static void count_release(void *value)
{
    (void)value;
    released++;
}

static void use_map(void *context)
{
    struct ty_map *map = NULL;
    ty_status status = ty_map_create(count_release, &map);
    int kept = 0;

    (void)context;
    ty_oom_expect(status);
    if (status)
        return;
    released = 0;
    for (int i = 0; i < 60; i++) {
        char key[2] = {(char)('A' + i), '\0'};

        status = ty_map_put(map, key, &released);
        ty_oom_expect(status);
        kept += status == TY_OK;
        assert_int_equal(ty_map_get(map, key) != NULL, status == TY_OK);
        assert_int_equal(ty_map_count(map), kept);
    }
    ty_map_destroy(map);
    assert_int_equal(released, kept);
}

static void run_nothing(void *context, size_t worker)
{
    (void)context;
    (void)worker;
}

static void use_pool(void *context)
{
    struct ty_pool *pool = NULL;
    struct ty_error err;
    ty_status status = ty_pool_create("oom", 2, 4, &pool, &err);

    (void)context;
    ty_oom_expect(status);
    assert_int_equal(pool == NULL, status != TY_OK);
    if (status)
        return;
    ty_oom_expect(ty_pool_submit(pool, run_nothing, NULL));
    ty_pool_destroy(pool);
}

static void use_digest(void *context)
{
    struct ty_sha256_stream *stream = NULL;
    uint8_t digest[TY_SHA256];
    ty_status status = ty_sha256_begin(&stream);

    (void)context;
    ty_oom_expect(status);
    assert_int_equal(stream == NULL, status != TY_OK);
    if (stream)
        ty_oom_expect(ty_sha256_finish(stream, digest));
    ty_sha256_destroy(stream);
}

static void every_failing_allocation_of_a_buffer_is_survived(void **state)
{
    (void)state;
    assert_true(ty_oom_sweep(fill_buffer, NULL) > 8);
}

static void every_failing_allocation_of_the_json_parser_is_survived(void **state)
{
    (void)state;
    assert_true(ty_oom_sweep(parse_json, NULL) > 60);
}

static void every_failing_allocation_of_the_yaml_parser_is_survived(void **state)
{
    (void)state;
    assert_true(ty_oom_sweep(parse_yaml, NULL) > 100);
}

static void every_failing_allocation_of_the_writers_is_survived(void **state)
{
    ty_auto_json value = json_pack("{s:[i,f,n,b,s],s:{s:s}}", "list", 1, 2.5, 1, "text", "map", "k",
                                   "many\nlines\nof text that goes on for a while\n");

    (void)state;
    assert_non_null(value);
    assert_true(ty_oom_sweep(write_both, value) >= 4);
}

static void every_failing_allocation_of_a_map_is_survived(void **state)
{
    (void)state;
    assert_true(ty_oom_sweep(use_map, NULL) > 60);
}

static void every_failing_allocation_of_a_pool_is_survived(void **state)
{
    (void)state;
    assert_true(ty_oom_sweep(use_pool, NULL) >= 6);
}

static void every_failing_allocation_of_a_digest_is_survived(void **state)
{
    (void)state;
    assert_true(ty_oom_sweep(use_digest, NULL) >= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_failing_allocation_of_a_buffer_is_survived),
        cmocka_unit_test(every_failing_allocation_of_the_json_parser_is_survived),
        cmocka_unit_test(every_failing_allocation_of_the_yaml_parser_is_survived),
        cmocka_unit_test(every_failing_allocation_of_the_writers_is_survived),
        cmocka_unit_test(every_failing_allocation_of_a_map_is_survived),
        cmocka_unit_test(every_failing_allocation_of_a_pool_is_survived),
        cmocka_unit_test(every_failing_allocation_of_a_digest_is_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
