/* Another size of an elastic run. Its plan has every replica that there can be, so that a scale is
 * a number: plan.json is replaced, then the supervisor is told to read it. A crash in between
 * leaves a plan that the next start tells of again, because the engine asks again.
 *
 * What can go otherwise: the GPUs of new replicas are still another run's, the disk takes no plan,
 * the supervisor does not listen yet - all of it is tried again until it is done or the run is
 * over. A run that waits needs no telling: its supervisor begins with the size that it finds. */
#include "executor/local/tracked.h"

#include "trainyard/base/failpoint.h"
#include "trainyard/base/str.h"

size_t ty_plan_size(const json_t *plan)
{
    size_t most = json_array_size(json_object_get(plan, "replicas"));
    int64_t size = ty_object_int(plan, "size", (int64_t)most);
    return size > 0 && (size_t)size < most ? (size_t)size : most;
}

static bool store_size(struct local *local, struct tracked *run, size_t size)
{
    struct ty_error why = {0};
    size_t before = ty_plan_size(run->plan);
    ty_status status = TY_NO_MEMORY;
    if (json_object_set_new(run->plan, "size", json_integer((json_int_t)size)) == 0)
        status = ty_run_folder_replace(local, run->object, run->plan, &why);
    if (status == TY_OK)
        return true;
    ty_log(local->log, TY_LOG_ERROR, "scale_not_stored", "run %s: %s", run->object, why.text);
    json_object_set_new(run->plan, "size", json_integer((json_int_t)before));
    return false;
}

/* The plan takes the size that is wanted. False: tried again. */
static bool change_plan(struct local *local, struct tracked *run)
{
    size_t most = json_array_size(json_object_get(run->plan, "replicas"));
    size_t size = (size_t)run->replicas_wanted < most ? (size_t)run->replicas_wanted : most;
    if (size == ty_plan_size(run->plan))
        return true;
    if (run->phase == RUN_ALIVE && !ty_local_take_gpus(local, run, size))
        return false;
    ty_failpoint("local.before_scale");
    return store_size(local, run, size);
}

/* The supervisor reads the plan again; nobody knows what that of an adopted run has read. */
static void tell(struct local *local, struct tracked *run)
{
    size_t size = ty_plan_size(run->plan);
    if (run->phase == RUN_ALIVE && ty_local_tell(local, run->object, "scale"))
        run->told_size = size;
}

bool ty_run_scale_untold(const struct tracked *run)
{
    return run->phase == RUN_ALIVE && run->scaled && run->told_size != ty_plan_size(run->plan);
}

void ty_run_scale(struct local *local, struct tracked *run)
{
    if (run->phase == RUN_OVER || !json_object_get(run->plan, "size")) /* not one that may grow */
        run->replicas_wanted = 0;
    if (run->replicas_wanted > 0) {
        if (!change_plan(local, run))
            return;
        run->replicas_wanted = 0;
        run->scaled = true;
        ty_failpoint("local.after_scale");
    }
    if (ty_run_scale_untold(run))
        tell(local, run);
}

static bool is_listed(const struct tracked *run, const char *replica)
{
    for (size_t i = 0; i < run->replica_count; i++) {
        if (ty_str_equal(run->replicas[i].name, replica))
            return true;
    }
    return false;
}

void ty_run_release_left(struct local *local, struct tracked *run)
{
    const json_t *replicas = json_object_get(run->plan, "replicas");
    const json_t *map = json_object_get(run->plan, "gpu_map");
    for (size_t i = ty_plan_size(run->plan); i < json_array_size(replicas); i++) {
        const char *name = ty_object_text(json_array_get(replicas, i), "name", "");
        if (json_object_get(map, name) && !is_listed(run, name))
            ty_local_release_replica(local, run, name);
    }
}
