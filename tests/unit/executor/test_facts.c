/* What the supervisor writes is what the daemon reads. */
#include "temporary.h"
#include "unit.h"

#include "executor/local/facts_read.h"
#include "executor/supervisor/facts.h"

#include "trainyard/base/file.h"
#include "trainyard/base/scope.h"

#include <sys/mman.h>

static void read_all(int fd, struct ty_buf *out)
{
    lseek(fd, 0, SEEK_SET);
    char *room = ty_buf_reserve(out, 65536);
    ssize_t len = read(fd, room, 65536);
    assert_true(len > 0);
    ty_buf_grew(out, (size_t)len);
    assert_int_equal(out->data[out->len - 1], '\n');
}

static void begin(struct ty_op *op, struct ty_op_pod *pods)
{
    static const struct ty_op_rules rules = {
        .job = "j",
        .namespace = "n",
        .restart = {TY_OP_NEVER, TY_OP_NEVER},
        .clean_pods = TY_OP_CLEAN_RUNNING,
        .backoff_limit = -1,
        .backoff_base_ms = 1,
        .backoff_max_ms = 1,
        .backoff_reset_ms = 1,
        .init_wait_ms = 1000
    };
    pods[0] = (struct ty_op_pod){.role = TY_OP_MASTER, .name = "master-0"};
    ty_op_begin(op, &rules, pods, 1, (struct ty_op_now){1, 100});
    pods[0].todo = TY_OP_NOTHING;
}

static void a_failed_run_reads_back_as_it_was_written(void **state)
{
    struct ty_op op;
    struct ty_op_pod pods[1];
    struct ty_error err;
    struct ty_fact fact;
    (void)state;
    begin(&op, pods);
    ty_op_started(&op, &pods[0], (struct ty_op_now){2, 200});
    const struct ty_op_exit ended = {.code = 137, .signal = 9, .out_of_memory = true};
    ty_op_exited(&op, &pods[0], &ended, (struct ty_op_now){3, 300});
    ty_auto_fd fd = memfd_create("facts", MFD_CLOEXEC);
    assert_int_equal(ty_facts_state(fd, &op, "memory", true, 400, &err), TY_OK);
    ty_auto_buf line = {0};
    ty_buf_init(&line, 1 << 20);
    read_all(fd, &line);
    assert_int_equal(ty_fact_read(line.data, line.len - 1, 7, &fact, &err), TY_OK);
    assert_int_equal(fact.kind, FACT_STATE);
    assert_true(fact.terminal);
    assert_int_equal(fact.seen.kind, TY_SEEN_FAILED);
    assert_int_equal(fact.seen.cause, TY_CAUSE_OUT_OF_MEMORY);
    assert_int_equal(fact.seen.attempt, 7);
    assert_int_equal(fact.seen.at, 400);
    assert_true(fact.seen.exit.known);
    assert_int_equal(fact.seen.exit.code, 137);
    assert_int_equal(fact.seen.exit.signal, 9);
    assert_string_equal(fact.seen.exit.replica, "master-0");
    assert_int_equal(fact.replica_count, 1);
    assert_int_equal(fact.replicas[0].phase, TY_REPLICA_FAILED);
    assert_string_equal(fact.replicas[0].reason, "OOMKilled");
    assert_int_equal(fact.replicas[0].started_at, 200);
    assert_int_equal(fact.replicas[0].finished_at, 300);
    ty_fact_done(&fact);
}

static void a_run_that_could_not_begin_reads_as_failed(void **state)
{
    struct ty_error err;
    struct ty_fact fact;
    (void)state;
    ty_auto_fd fd = memfd_create("facts", MFD_CLOEXEC);
    assert_int_equal(ty_facts_not_begun(fd, "no \"room\"", 5, &err), TY_OK);
    ty_auto_buf line = {0};
    ty_buf_init(&line, 1 << 20);
    read_all(fd, &line);
    assert_int_equal(ty_fact_read(line.data, line.len - 1, 1, &fact, &err), TY_OK);
    assert_int_equal(fact.seen.kind, TY_SEEN_FAILED);
    assert_int_equal(fact.seen.cause, TY_CAUSE_GATEWAY_ERROR);
    assert_string_equal(fact.seen.message, "no \"room\"");
    assert_true(fact.terminal);
    assert_false(fact.seen.exit.known);
    ty_fact_done(&fact);
}

static void lines_that_are_not_ours_are_refused_and_leave_the_output_alone(void **state)
{
    static const char *const lines[] = {
        "",
        "{",
        "[]",
        "{\"at\":1}",
        "{\"event\":7}",
        "{\"event\":\"state\"}",
        "{\"event\":\"state\",\"kind\":\"dancing\"}",
        "{\"event\":\"state\",\"kind\":\"running\",\"kind\":\"failed\"}",
        "{\"event\":\"supervisor\",\"pid\":1"};
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(lines); i++) {
        struct ty_fact fact = {.pid = 42};
        struct ty_error err;
        assert_int_equal(ty_fact_read(lines[i], strlen(lines[i]), 1, &fact, &err), TY_CORRUPT);
        assert_int_equal(fact.pid, 42);
    }
}

static void events_of_a_later_version_are_passed_over(void **state)
{
    static const char line[] = "{\"event\":\"weather\",\"pid\":3}";
    struct ty_fact fact;
    struct ty_error err;
    (void)state;
    assert_int_equal(ty_fact_read(line, strlen(line), 1, &fact, &err), TY_OK);
    assert_int_equal(fact.kind, FACT_OTHER);
    ty_fact_done(&fact);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failed_run_reads_back_as_it_was_written),
        cmocka_unit_test(a_run_that_could_not_begin_reads_as_failed),
        cmocka_unit_test(lines_that_are_not_ours_are_refused_and_leave_the_output_alone),
        cmocka_unit_test(events_of_a_later_version_are_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
