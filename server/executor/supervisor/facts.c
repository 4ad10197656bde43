#include "executor/supervisor/facts.h"

#include "executor/supervisor/process.h"

#include "trainyard/base/file.h"

#include <errno.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 4 * 1024 * 1024 };

static ty_status write_line(int fd, struct ty_json_writer *writer, bool durable,
                            struct ty_error *err)
{
    ty_json_end(writer);
    ty_buf_addc(writer->buf, '\n');
    ty_status status = ty_buf_check(writer->buf, "a line of the run's status", err);
    if (status == TY_OK)
        status = ty_write_all(fd, writer->buf->data, writer->buf->len, err);
    if (status == TY_OK && durable && fdatasync(fd) != 0)
        status = ty_fail_errno(err, errno, "store the run's status");
    return status;
}

static void begin_line(struct ty_json_writer *writer, struct ty_buf *buf, const char *event,
                       int64_t wall_us)
{
    ty_buf_init(buf, LINE_MAX_BYTES);
    ty_json_writer_init(writer, buf);
    ty_json_object(writer);
    ty_json_put_string(writer, "event", event);
    ty_json_put_int(writer, "at", wall_us);
}

ty_status ty_facts_supervisor(int fd, const struct ty_plan *plan, int64_t wall_us,
                              struct ty_error *err)
{
    ty_auto_buf buf = {0};
    struct ty_json_writer writer;
    begin_line(&writer, &buf, "supervisor", wall_us);
    ty_json_put_int(&writer, "pid", getpid());
    ty_json_put_int(&writer, "birth", ty_process_birth(getpid()));
    ty_json_put_int(&writer, "attempt", plan->attempt);
    ty_json_put_string(&writer, "job_id", plan->job_id);
    return write_line(fd, &writer, false, err);
}

ty_status ty_facts_process(int fd, const char *replica, pid_t pid, int64_t wall_us,
                           struct ty_error *err)
{
    ty_auto_buf buf = {0};
    struct ty_json_writer writer;
    begin_line(&writer, &buf, "process", wall_us);
    ty_json_put_string(&writer, "replica", replica);
    ty_json_put_int(&writer, "pid", pid);
    ty_json_put_int(&writer, "birth", ty_process_birth(pid));
    return write_line(fd, &writer, false, err);
}

static void put_exit(struct ty_json_writer *writer, const struct ty_op_pod *pod)
{
    ty_json_key(writer, "exit");
    if (!pod || !pod->has_exit || pod->exit.not_started) {
        ty_json_null(writer);
        return;
    }
    ty_json_object(writer);
    ty_json_put_string(writer, "replica", pod->name);
    ty_json_put_int(writer, "code", pod->exit.code);
    ty_json_put_int(writer, "signal", pod->exit.signal);
    ty_json_end(writer);
}

static void put_replica(struct ty_json_writer *writer, const struct ty_op_pod *pod)
{
    ty_json_object(writer);
    ty_json_put_string(writer, "name", pod->name);
    ty_json_put_string(writer, "phase", ty_op_pod_phase(pod));
    ty_json_put_string(writer, "reason", ty_op_pod_reason(pod));
    ty_json_put_int(writer, "restarts", pod->restarts + pod->recreated);
    ty_json_put_int(writer, "started_at", pod->started_at);
    ty_json_put_int(writer, "finished_at", pod->finished_at);
    put_exit(writer, pod);
    ty_json_end(writer);
}

static void put_condition(struct ty_json_writer *writer, const struct ty_op_condition *condition)
{
    ty_json_object(writer);
    ty_json_put_string(writer, "type", ty_op_condition_name(condition->type));
    ty_json_put_string(writer, "status", condition->status ? "True" : "False");
    ty_json_put_string(writer, "reason", ty_op_condition_reason(condition->type));
    ty_json_put_string(writer, "message", condition->message);
    ty_json_put_int(writer, "changed_at", condition->changed_at);
    ty_json_end(writer);
}

ty_status ty_facts_state(int fd, const struct ty_op *op, const char *unenforced, bool durable,
                         int64_t wall_us, struct ty_error *err)
{
    ty_auto_buf buf = {0};
    struct ty_json_writer writer;
    struct ty_op_view view;
    ty_op_look(op, &view);
    begin_line(&writer, &buf, "state", wall_us);
    ty_json_put_bool(&writer, "terminal", ty_op_over(op));
    ty_json_put_string(&writer, "kind", view.kind);
    ty_json_put_string(&writer, "cause", view.cause);
    ty_json_put_string(&writer, "message", view.message);
    ty_json_put_int(&writer, "restarts", op->restarts);
    put_exit(&writer, view.culprit);
    ty_json_key(&writer, "replicas");
    ty_json_array(&writer);
    for (size_t i = 0; i < op->pod_count; i++) {
        if (op->pods[i].state != TY_OP_ABSENT)
            put_replica(&writer, &op->pods[i]);
    }
    ty_json_end(&writer);
    ty_json_key(&writer, "conditions");
    ty_json_array(&writer);
    for (size_t i = 0; i < op->condition_count; i++)
        put_condition(&writer, &op->conditions[i]);
    ty_json_end(&writer);
    if (unenforced)
        ty_json_put_string(&writer, "unenforced", unenforced);
    return write_line(fd, &writer, durable, err);
}

ty_status ty_facts_not_begun(int fd, const char *message, int64_t wall_us, struct ty_error *err)
{
    ty_auto_buf buf = {0};
    struct ty_json_writer writer;
    begin_line(&writer, &buf, "state", wall_us);
    ty_json_put_bool(&writer, "terminal", true);
    ty_json_put_string(&writer, "kind", "failed");
    ty_json_put_string(&writer, "cause", "gateway_error");
    ty_json_put_string(&writer, "message", message);
    ty_json_put_int(&writer, "restarts", 0);
    return write_line(fd, &writer, true, err);
}
