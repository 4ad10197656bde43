#include "oom.h"
#include "unit.h"

#include "trainyard/base/json.h"
#include "trainyard/events/text.h"

#include <stdio.h>
#include <stdlib.h>

static const uint8_t key[TY_SHA256] = {1, 2, 3};
static const struct ty_event_owner owner = {"default", key};

static struct ty_event job_event(void)
{
    return (struct ty_event){.tenant = 1,
                             .sequence = 42,
                             .type = ty_event_of_state(TY_JOB_FAILED),
                             .at = 1700000000000000,
                             .job = 7,
                             .job_id = "job_01j9z3k4m5n6p7q8r9s0t1v2w3",
                             .name = "mnist",
                             .labels = "{\"team\":\"vision\",\"x\":\"1\"}",
                             .job_sequence = 4,
                             .has_from = true,
                             .from = TY_JOB_RUNNING,
                             .state = TY_JOB_FAILED,
                             .cause = TY_CAUSE_CONTAINER_ERROR,
                             .attempt = 1,
                             .has_exit = true,
                             .exit_code = 3,
                             .exit_replica = "worker-1",
                             .message = "line\nbreak \"quoted\""};
}

static struct ty_event_text *make(const struct ty_event *event)
{
    struct ty_event_text *text = NULL;
    struct ty_error err = {0};
    assert_int_equal(ty_event_text_make(event, &owner, &text, &err), TY_OK);
    return text;
}

static json_t *parse(const struct ty_event_text *text)
{
    json_t *json = NULL;
    struct ty_error err = {0};
    assert_int_equal(ty_json_parse(text->bytes + text->head_len, text->json_len, &json, &err),
                     TY_OK);
    return json;
}

static const char *text_of(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

static void an_event_says_all_of_its_job_in_one_frame(void **state)
{
    (void)state;
    const struct ty_event event = job_event();
    struct ty_event_text *text = make(&event);
    json_t *json = parse(text);
    const json_t *data = json_object_get(json, "data");
    char head[128];
    snprintf(head, sizeof head, "id: %s\nevent: job.failed\ndata: ", text_of(json, "id"));
    assert_int_equal(strlen(head), text->head_len);
    assert_memory_equal(text->bytes, head, text->head_len);
    assert_int_equal(text->len, text->head_len + text->json_len + 2);
    assert_memory_equal(text->bytes + text->len - 2, "\n\n", 2);
    assert_null(memchr(text->bytes + text->head_len, '\n', text->json_len));
    assert_string_equal(text_of(json, "type"), "job.failed");
    assert_string_equal(text_of(json, "tenant"), "default");
    assert_string_equal(text_of(data, "state"), "failed");
    assert_string_equal(text_of(data, "previous_state"), "running");
    assert_string_equal(text_of(data, "message"), "line\nbreak \"quoted\"");
    assert_string_equal(text_of(json_object_get(data, "labels"), "team"), "vision");
    assert_int_equal(json_integer_value(json_object_get(data, "exit_code")), 3);
    assert_string_equal(text_of(data, "failed_replica"), "worker-1");
    assert_string_equal(text_of(json_object_get(data, "links"), "logs"),
                        "/v1/jobs/job_01j9z3k4m5n6p7q8r9s0t1v2w3/logs");
    assert_true(text->ends_job);
    json_decref(json);
    ty_event_text_unref(text);
}

static void what_a_type_has_more_joins_the_data(void **state)
{
    (void)state;
    struct ty_event event = job_event();
    event.type = TY_EVENT_CHECKPOINT_CREATED;
    event.has_from = false;
    event.extra = "{\"path\":\"a.pt\",\"size\":3}";
    struct ty_event_text *text = make(&event);
    json_t *json = parse(text);
    const json_t *data = json_object_get(json, "data");
    assert_string_equal(text_of(data, "path"), "a.pt");
    assert_true(json_is_null(json_object_get(data, "previous_state")));
    assert_false(text->ends_job); /* its state is a last one, but it is no change of state */
    json_decref(json);
    ty_event_text_unref(text);
}

static void an_event_of_a_volume_names_it(void **state)
{
    (void)state;
    const struct ty_event event = {
        .tenant = 1, .sequence = 1, .type = TY_EVENT_VOLUME_CREATED, .at = 1, .name = "data"};
    struct ty_event_text *text = make(&event);
    json_t *json = parse(text);
    assert_string_equal(text_of(json_object_get(json, "data"), "volume"), "data");
    assert_false(text->of_job);
    json_decref(json);
    ty_event_text_unref(text);
}

static void an_id_is_read_back_by_its_own_tenant_alone(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "0",
        "1",
        "1-",
        "-",
        "-1",
        "1-0123456789abcdef",
        "x-0123456789abcdef",
        "99999999999999999999999999-0123456789abcdef",
    };
    const uint8_t other_key[TY_SHA256] = {9};
    char id[TY_EVENT_ID];
    char wrong[TY_EVENT_ID + 8];
    int64_t sequence = -1;
    assert_int_equal(ty_event_id_make(key, 5, INT64_MAX, id), TY_OK);
    assert_int_equal(ty_event_id_read(key, 5, id, &sequence), TY_OK);
    assert_true(sequence == INT64_MAX);
    assert_int_equal(ty_event_id_make(key, 5, 12, id), TY_OK);
    sequence = -1;
    assert_int_equal(ty_event_id_read(key, 6, id, &sequence), TY_INVALID);
    assert_int_equal(ty_event_id_read(other_key, 5, id, &sequence), TY_INVALID);
    snprintf(wrong, sizeof wrong, "0%s", id);
    assert_int_equal(ty_event_id_read(key, 5, wrong, &sequence), TY_INVALID);
    snprintf(wrong, sizeof wrong, "%s0", id);
    assert_int_equal(ty_event_id_read(key, 5, wrong, &sequence), TY_INVALID);
    for (size_t i = 0; i < UNIT_COUNT(bad); i++)
        assert_int_equal(ty_event_id_read(key, 5, bad[i], &sequence), TY_INVALID);
    assert_int_equal(sequence, -1);
}

static void a_filter_takes_what_fits_all_of_it(void **state)
{
    (void)state;
    static const struct {
        const char *job;
        const char *label;
        ty_event_type type;
        bool takes;
    } cases[] = {
        {"",                               NULL,          (ty_event_type)0,       true },
        {"job_01j9z3k4m5n6p7q8r9s0t1v2w3", NULL,          (ty_event_type)0,       true },
        {"job_01j9z3k4m5n6p7q8r9s0t1v2w4", NULL,          (ty_event_type)0,       false},
        {"",                               "team=vision", (ty_event_type)0,       true },
        {"",                               "team=visio",  (ty_event_type)0,       false},
        {"",                               "eam=vision",  (ty_event_type)0,       false},
        {"",                               "x=1",         TY_EVENT_JOB_STATE + 7, true },
        {"",                               "x=1",         TY_EVENT_JOB_UPDATED,   false},
    };
    const struct ty_event event = job_event();
    struct ty_event_text *text = make(&event);
    assert_true(ty_event_filter_takes(NULL, &event));
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct ty_event_filter filter = {0};
        snprintf(filter.job_id, sizeof filter.job_id, "%s", cases[i].job);
        if (cases[i].type != 0)
            filter.types = ty_event_type_bit(cases[i].type);
        if (cases[i].label)
            assert_int_equal(ty_event_filter_label(&filter, cases[i].label), TY_OK);
        assert_int_equal(ty_event_filter_takes(&filter, &event), cases[i].takes);
        assert_int_equal(ty_event_filter_takes_text(&filter, text), cases[i].takes);
    }
    ty_event_text_unref(text);
}

static void a_filter_refuses_what_is_no_label_and_one_too_many(void **state)
{
    (void)state;
    struct ty_event_filter filter = {0};
    char longest[TY_EVENT_LABEL + 1];
    memset(longest, 'a', sizeof longest);
    longest[1] = '=';
    longest[TY_EVENT_LABEL] = '\0';
    assert_int_equal(ty_event_filter_label(&filter, "none"), TY_INVALID);
    assert_int_equal(ty_event_filter_label(&filter, longest), TY_INVALID);
    for (int i = 0; i < TY_EVENT_LABELS_MAX; i++)
        assert_int_equal(ty_event_filter_label(&filter, "a=b"), TY_OK);
    assert_int_equal(ty_event_filter_label(&filter, "a=b"), TY_INVALID);
    assert_int_equal(filter.labels_count, TY_EVENT_LABELS_MAX);
}

static void make_without_memory(void *context)
{
    const struct ty_event event = job_event();
    struct ty_event_text *text = NULL;
    struct ty_error err = {0};
    (void)context;
    ty_status status = ty_event_text_make(&event, &owner, &text, &err);
    ty_oom_expect(status);
    assert_int_equal(text != NULL, status == TY_OK);
    ty_event_text_unref(text);
}

static void a_text_without_memory_is_refused_whole(void **state)
{
    (void)state;
    assert_true(ty_oom_sweep(make_without_memory, NULL) > 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_event_says_all_of_its_job_in_one_frame),
        cmocka_unit_test(what_a_type_has_more_joins_the_data),
        cmocka_unit_test(an_event_of_a_volume_names_it),
        cmocka_unit_test(an_id_is_read_back_by_its_own_tenant_alone),
        cmocka_unit_test(a_filter_takes_what_fits_all_of_it),
        cmocka_unit_test(a_filter_refuses_what_is_no_label_and_one_too_many),
        cmocka_unit_test(a_text_without_memory_is_refused_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
