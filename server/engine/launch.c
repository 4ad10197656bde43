/* From the stored spec to a run: read, parse, find the checkpoint to go on from, render, apply.
 * Everything is made anew from what is stored each time, so that a repeat after a crash applies the
 * same objects. */
#include "state.h"

#include "trainyard/base/failpoint.h"
#include "trainyard/base/json.h"
#include "trainyard/base/scope.h"
#include "trainyard/logs/files.h"

#include <string.h>

enum { SPEC_MAX = 16 * 1024 * 1024 };

#define auto_manifest __attribute__((cleanup(ty_manifest_done))) struct ty_manifest

/* The first fault says what the whole refusal is about. */
static ty_status refuse_by_faults(const struct ty_faults *faults, struct ty_error *err)
{
    if (!ty_faults_any(faults))
        return ty_wrap(err, "the stored spec");
    const struct ty_fault *fault = &faults->items[0];
    return ty_fail_code(err, TY_REFUSED, "spec_rejected", "%s: %s", fault->where, fault->detail);
}

void launch_destroy_spec(struct ty_job_spec **spec)
{
    ty_job_spec_destroy(*spec);
}

ty_status launch_read_spec(struct ty_reader *reader, int64_t row, struct ty_job_spec **spec_out,
                           struct ty_error *err)
{
    ty_auto_buf text = {0};
    ty_buf_init(&text, SPEC_MAX);
    ty_status status = ty_jobs_spec(reader, row, &text, err);
    if (status != TY_OK)
        return ty_wrap(err, "read the spec");

    ty_auto_json body = NULL;
    status = ty_json_parse(text.data ? text.data : "", text.len, &body, err);
    if (status == TY_INVALID) /* ours to answer for, and no repeat mends it */
        return ty_fail_code(err, TY_REFUSED, "gateway_error", "the stored spec cannot be read");
    if (status != TY_OK)
        return ty_wrap(err, "the stored spec");
    ty_auto_free struct ty_faults *faults = calloc(1, sizeof(*faults));
    if (!faults)
        return ty_fail(err, TY_NO_MEMORY, "no memory to read a spec");
    ty_faults_init(faults);
    status = ty_job_spec_parse(body, spec_out, faults, err);
    return status == TY_REFUSED ? refuse_by_faults(faults, err) : status;
}

static void keep_rules(struct live_job *job, const struct ty_job_spec *spec)
{
    job->restart_limit = spec->restart == TY_RESTART_EXIT_CODE ? spec->max_retries + 1 : 0;
    job->prunes =
        spec->checkpoint_keep_last > 0 && !spec->master.volumes[spec->checkpoint_volume].read_only;
    job->rules_known = true;
}

ty_status launch_read_rules(struct ty_engine *engine, struct live_job *job, struct ty_error *err)
{
    auto_spec spec = NULL;
    ty_status status = launch_read_spec(engine->reader, job->facts.row, &spec, err);
    if (status == TY_OK)
        keep_rules(job, spec);
    return status;
}

/* The latest of a listing is a path from the claim's root; the containers see the folder alone. */
static const char *below_folder(const char *latest, const char *folder)
{
    size_t len = strlen(folder);
    bool inside = len > 0 && strncmp(latest, folder, len) == 0 && latest[len] == '/';
    return inside ? latest + len + 1 : latest;
}

/* The newest complete checkpoint as a path inside the containers; an empty buffer when there is
 * none (or no claim yet). What cannot be read at this time is tried again rather than passed over:
 * starting afresh would lose work. */
static ty_status find_checkpoint(struct ty_engine *engine, const struct live_job *job,
                                 const struct ty_job_spec *spec, struct ty_buf *path,
                                 struct ty_error *err)
{
    struct ty_executor *executor = engine->options.executor;
    struct ty_spec_folder folder;
    ty_job_spec_checkpoints(spec, job->facts.object_name, &folder);
    ty_auto_fd root = -1;
    ty_status status =
        executor->ops->open_claim(executor, job->facts.namespace, folder.claim, &root, err);
    if (status == TY_NOT_FOUND || status == TY_UNSUPPORTED)
        return TY_OK;
    if (status != TY_OK)
        return status;
    ty_auto_checkpoint_list list = {0};
    struct ty_file_query query = {.folder = folder.path, .limit = 1};
    status = ty_checkpoints_list(root, &query, &list, err);
    if (status != TY_OK || !list.latest)
        return status;
    ty_buf_addf(path, "%s/%s", folder.mount, below_folder(list.latest, folder.path));
    return ty_buf_check(path, "the checkpoint's path", err);
}

static ty_status render_job(struct ty_engine *engine, const struct ty_render_input *input,
                            struct ty_manifest *manifest_out, struct ty_error *err)
{
    ty_auto_free struct ty_faults *faults = calloc(1, sizeof(*faults));
    if (!faults)
        return ty_fail(err, TY_NO_MEMORY, "no memory to render a job");
    ty_faults_init(faults);
    ty_status status = engine->options.renderer->render(input, manifest_out, faults, err);
    return status == TY_REFUSED ? refuse_by_faults(faults, err) : status;
}

ty_status launch_job(struct ty_engine *engine, struct live_job *job, struct ty_error *err)
{
    auto_spec spec = NULL;
    ty_status status = launch_read_spec(engine->reader, job->facts.row, &spec, err);
    if (status != TY_OK)
        return status;
    keep_rules(job, spec);

    ty_auto_buf resume = {0};
    ty_buf_init(&resume, TY_FILE_PATH_MAX + 1024);
    if (spec->checkpoint_resume) {
        status = find_checkpoint(engine, job, spec, &resume, err);
        if (status != TY_OK)
            return ty_wrap(err, "look for a checkpoint");
    }
    struct ty_render_input input = {.spec = spec,
                                    .job_id = job->facts.id,
                                    .object_name = job->facts.object_name,
                                    .namespace = job->facts.namespace,
                                    .tenant = job->facts.tenant_name,
                                    .resume_from = resume.len > 0 ? resume.data : NULL,
                                    .attempt = job->facts.status.attempt};
    auto_manifest manifest = {0};
    ty_failpoint("launch.before_render");
    status = render_job(engine, &input, &manifest, err);
    if (status != TY_OK)
        return status;
    struct ty_run run = {.job_id = job->facts.id,
                         .namespace = job->facts.namespace,
                         .object_name = job->facts.object_name,
                         .attempt = job->facts.status.attempt,
                         .spec = spec,
                         .manifest = &manifest};
    struct ty_executor *executor = engine->options.executor;
    ty_failpoint("launch.before_apply");
    status = executor->ops->apply(executor, &run, err);
    ty_failpoint("launch.after_apply");
    return status;
}
