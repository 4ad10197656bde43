/* Where a script reports how the training goes: TensorBoard's folder, MLflow's server. */
#include "spec_parts.h"

#include "trainyard/base/str.h"

#include <ctype.h>

enum { NAME_BYTES = 1000, URI_BYTES = 2048 };

struct raw_tensorboard {
    const char *path;
};

static const struct ty_field tensorboard_fields[] = {
    {"path", TY_FIELD_BORROWED, offsetof(struct raw_tensorboard, path), 1, 0, NULL},
};

static void read_tensorboard(struct ty_spec_reader *reader, const json_t *object,
                             struct ty_job_spec *spec)
{
    struct raw_tensorboard raw = {.path = "tensorboard"};
    size_t mark = ty_spec_enter(reader, "tensorboard");

    ty_spec_read_fields(reader, object, tensorboard_fields, 1, &raw);
    const char *fault = ty_spec_relative_path_fault(raw.path);

    if (fault)
        ty_spec_fault_in(reader, "path", "path_invalid", "%s", fault);
    spec->tensorboard_path = ty_spec_dup(reader, raw.path);
    ty_spec_leave(reader, mark);
}

static const struct ty_field mlflow_fields[] = {
    {"tracking_uri", TY_FIELD_TEXT, offsetof(struct ty_mlflow, tracking_uri), 1, URI_BYTES,  NULL},
    {"experiment",   TY_FIELD_TEXT, offsetof(struct ty_mlflow, experiment),   1, NAME_BYTES, NULL},
    {"run_name",     TY_FIELD_TEXT, offsetof(struct ty_mlflow, run_name),     1, NAME_BYTES, NULL},
};

static bool has_control(const char *text)
{
    for (; *text; text++)
        if (iscntrl((unsigned char)*text))
            return true;
    return false;
}

/* A server, a folder or a workspace; nothing with a user's name and password in it, since every
 * reader of the job would see them. */
static bool uri_valid(const char *uri)
{
    static const char *const schemes[] = {"http://", "https://"};

    if (has_control(uri) || strchr(uri, ' '))
        return false;
    for (size_t i = 0; i < 2; i++) {
        const char *host = ty_str_starts(uri, schemes[i]) ? uri + strlen(schemes[i]) : NULL;
        size_t len = host ? strcspn(host, "/") : 0;

        if (len > 0 && !memchr(host, '@', len))
            return true;
    }
    return ty_str_starts(uri, "file:///") || ty_str_equal(uri, "databricks") ||
           (ty_str_starts(uri, "databricks://") && !strchr(uri, '@'));
}

static void read_mlflow(struct ty_spec_reader *reader, const json_t *object,
                        struct ty_job_spec *spec)
{
    struct ty_mlflow *mlflow = &spec->mlflow;
    size_t mark = ty_spec_enter(reader, "mlflow");

    ty_spec_read_fields(reader, object, mlflow_fields, 3, mlflow);
    mlflow->on = true;
    if (mlflow->tracking_uri && !uri_valid(mlflow->tracking_uri))
        ty_spec_fault_in(reader, "tracking_uri", "uri_invalid",
                         "must be an http, https, file or databricks URI without user name and "
                         "password");
    if (mlflow->experiment && has_control(mlflow->experiment))
        ty_spec_fault_in(reader, "experiment", "name_invalid", "has a control character");
    if (mlflow->run_name && has_control(mlflow->run_name))
        ty_spec_fault_in(reader, "run_name", "name_invalid", "has a control character");
    if (!mlflow->run_name)
        mlflow->run_name = ty_spec_dup(reader, spec->name);
    ty_spec_leave(reader, mark);
}

void ty_spec_read_tracking(struct ty_spec_reader *reader, struct ty_spec_draft *draft)
{
    if (draft->tensorboard)
        read_tensorboard(reader, draft->tensorboard, &draft->spec);
    if (draft->mlflow)
        read_mlflow(reader, draft->mlflow, &draft->spec);
}

/* Two values for one variable would be refused by the cluster. */
static void check_variable(struct ty_spec_reader *reader, const char *member, const char *name,
                           const struct ty_spec_role *role)
{
    bool taken = false;

    for (size_t i = 0; i < role->env.count; i++)
        taken = taken || ty_str_equal(role->env.items[i].name, name);
    for (size_t i = 0; i < role->secrets->count; i++)
        taken = taken ||
                (role->secrets->items[i].env && ty_str_equal(role->secrets->items[i].env, name));
    if (!taken)
        return;
    size_t mark = ty_spec_enter(reader, member);

    ty_spec_fault_once(reader, "env_name_taken", "%s is set by env or a secret already", name);
    ty_spec_leave(reader, mark);
}

void ty_spec_check_tracking(struct ty_spec_reader *reader, const struct ty_job_spec *spec,
                            const struct ty_spec_role *role)
{
    const struct ty_mlflow *mlflow = &spec->mlflow;
    size_t mark = ty_spec_enter(reader, "mlflow");

    if (mlflow->tracking_uri)
        check_variable(reader, "tracking_uri", "MLFLOW_TRACKING_URI", role);
    if (mlflow->experiment)
        check_variable(reader, "experiment", "MLFLOW_EXPERIMENT_NAME", role);
    if (mlflow->on)
        check_variable(reader, "run_name", "MLFLOW_RUN_NAME", role);
    ty_spec_leave(reader, mark);
}
