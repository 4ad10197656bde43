/* What the container runs: the launcher and the script, or the command; then the flags of epochs
 * and parameters; then args, which therefore win where a program takes the last of two flags. The
 * operator adds its variables to the environment when it makes the pod, behind ours. */
#include "parts.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const backends[] = {
    [TY_BACKEND_NCCL] = "nccl", [TY_BACKEND_GLOO] = "gloo", [TY_BACKEND_MPI] = "mpi"};

static const char *const launchers[] = {
    [TY_LAUNCHER_PYTHON] = "python3", [TY_LAUNCHER_TORCHRUN] = "torchrun"};

/* The image's own entry point is what a container without a command runs. */
static void render_command(struct ty_tree *tree, const struct ty_job_spec *spec,
                           const struct ty_spec_role *role, json_t *container)
{
    char path[TY_MOUNT_PATH + TY_CLAIM_NAME];

    if (role->program == TY_PROGRAM_ENTRYPOINT)
        return;
    json_t *command = ty_tree_put_array(tree, container, "command");

    for (size_t i = 0; i < role->command_count; i++)
        ty_tree_append(tree, command, ty_render_argument(role->command[i]));
    if (role->program == TY_PROGRAM_COMMAND)
        return;
    snprintf(path, sizeof(path), "%s/%s", TY_SCRIPTS_MOUNT, spec->script_name);
    ty_tree_append(tree, command, json_string(launchers[spec->launcher]));
    ty_tree_append(tree, command, ty_render_literal(path));
}

static void append_flag(struct ty_tree *tree, json_t *args, const char *name, const char *value)
{
    char *flag = NULL;

    if (asprintf(&flag, "--%s=%s", name, value) < 0) {
        tree->no_memory = true;
        return;
    }
    ty_tree_append(tree, args, ty_render_literal(flag));
    free(flag);
}

static void render_args(struct ty_tree *tree, const struct ty_job_spec *spec,
                        const struct ty_spec_role *role, json_t *args)
{
    char epochs[16];

    if (spec->parameter_style != TY_PARAMETERS_ENV) {
        snprintf(epochs, sizeof(epochs), "%d", spec->epochs);
        if (spec->epochs > 0)
            append_flag(tree, args, "epochs", epochs);
        for (size_t i = 0; i < spec->parameters.count; i++)
            append_flag(tree, args, spec->parameters.items[i].name,
                        spec->parameters.items[i].value);
    }
    for (size_t i = 0; i < role->args_count; i++)
        ty_tree_append(tree, args, ty_render_argument(role->args[i]));
}

static void put_variable(struct ty_tree *tree, json_t *env, const char *name, const char *value)
{
    json_t *variable = ty_tree_append_object(tree, env);

    ty_tree_put_text(tree, variable, "name", name);
    ty_tree_put(tree, variable, "value", ty_render_literal(value));
}

/* Where the script reports how the training goes. */
static void render_tracking(struct ty_tree *tree, const struct ty_job_spec *spec,
                            const struct ty_spec_folder *output, json_t *env)
{
    char path[sizeof(output->mount) + TY_MOUNT_PATH];

    if (spec->tensorboard_path) {
        snprintf(path, sizeof(path), "%s/%s", output->mount, spec->tensorboard_path);
        put_variable(tree, env, "TRAINYARD_TENSORBOARD_DIR", path);
    }
    if (spec->mlflow.tracking_uri)
        put_variable(tree, env, "MLFLOW_TRACKING_URI", spec->mlflow.tracking_uri);
    if (spec->mlflow.experiment)
        put_variable(tree, env, "MLFLOW_EXPERIMENT_NAME", spec->mlflow.experiment);
    if (spec->mlflow.on)
        put_variable(tree, env, "MLFLOW_RUN_NAME", spec->mlflow.run_name);
}

static void render_env(struct ty_tree *tree, const struct ty_render_input *input,
                       const struct ty_spec_role *role, json_t *env)
{
    const struct ty_job_spec *spec = input->spec;
    struct ty_spec_folder folder;

    for (size_t i = 0; i < role->env.count; i++)
        put_variable(tree, env, role->env.items[i].name, role->env.items[i].value);
    ty_render_secret_env(tree, role, env);
    put_variable(tree, env, "TRAINYARD_JOB_ID", input->job_id);
    put_variable(tree, env, "TRAINYARD_JOB_NAME", spec->name);
    put_variable(tree, env, "TRAINYARD_BACKEND", backends[spec->backend]);
    ty_job_spec_output(spec, input->object_name, &folder);
    put_variable(tree, env, "TRAINYARD_OUTPUT_DIR", folder.mount);
    render_tracking(tree, spec, &folder, env);
    ty_job_spec_checkpoints(spec, input->object_name, &folder);
    put_variable(tree, env, "TRAINYARD_CHECKPOINT_DIR", folder.mount);
    if (spec->checkpoint_resume && input->resume_from)
        put_variable(tree, env, "TRAINYARD_RESUME_FROM", input->resume_from);
}

static void render_env_from(struct ty_tree *tree, const struct ty_render_input *input,
                            json_t *container)
{
    char name[TY_CHILD_NAME];

    if (!ty_render_has_env(input->spec))
        return;
    ty_render_env_name(input->object_name, name);
    json_t *sources = ty_tree_put_array(tree, container, "envFrom");
    json_t *source = ty_tree_append_object(tree, sources);
    json_t *reference = ty_tree_put_object(tree, source, "configMapRef");

    ty_tree_put_text(tree, reference, "name", name);
}

void ty_render_program(struct ty_tree *tree, const struct ty_render_input *input,
                       const struct ty_spec_role *role, json_t *container)
{
    render_command(tree, input->spec, role, container);
    json_t *args = ty_tree_array(tree);

    render_args(tree, input->spec, role, args);
    if (json_array_size(args) > 0)
        ty_tree_put(tree, container, "args", json_incref(args));
    json_decref(args);
    /* The image's own entry point starts where the image says. */
    if (role->working_dir || role->program != TY_PROGRAM_ENTRYPOINT)
        ty_tree_put_text(tree, container, "workingDir",
                         role->working_dir ? role->working_dir : TY_WORKING_DIR);
    render_env(tree, input, role, ty_tree_put_array(tree, container, "env"));
    render_env_from(tree, input, container);
}
