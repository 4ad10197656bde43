#include "state.h"

#include "trainyard/base/str.h"
#include "trainyard/store/volumes.h"

#include <stdlib.h>

static bool known(const struct own_claims *claims, const char *name)
{
    for (size_t i = 0; i < claims->count; i++)
        if (ty_str_equal(claims->names[i], name))
            return true;
    return false;
}

/* `suffix` marks the claims that were made for this job and carry its name. */
static void add_of_role(struct own_claims *claims, const struct ty_spec_role *role,
                        const char *object_name)
{
    char name[TY_CLAIM_NAME];
    for (size_t i = 0; i < role->volumes_count; i++) {
        if (role->volumes[i].kind != TY_VOLUME_CLAIM || !role->volumes[i].suffix)
            continue;
        ty_spec_volume_claim(&role->volumes[i], object_name, name);
        if (!known(claims, name))
            ty_str_copy(claims->names[claims->count++], TY_CLAIM_NAME, name);
    }
}

static ty_status read_spec(struct ty_engine *engine, int64_t row, struct ty_job_spec **spec_out,
                           struct ty_error *err)
{
    struct ty_reader *reader = NULL;
    ty_status status = ty_reader_open(engine->options.store, &reader, err);
    if (status != TY_OK)
        return status;
    status = launch_read_spec(reader, row, spec_out, err);
    ty_reader_close(reader);
    return status;
}

ty_status claims_read(struct ty_engine *engine, const struct job_facts *facts,
                      struct own_claims *claims_out, struct ty_error *err)
{
    auto_spec spec = NULL;
    struct own_claims claims = {0};
    ty_status status = read_spec(engine, facts->row, &spec, err);
    if (status == TY_NOT_FOUND || status == TY_REFUSED) {
        *claims_out = claims; /* gone already, or of a version that nobody reads any more */
        return TY_OK;
    }
    if (status != TY_OK)
        return status;
    size_t room = spec->master.volumes_count + spec->worker.volumes_count + 1;
    claims.names = calloc(room, sizeof(*claims.names));
    if (!claims.names)
        return ty_fail(err, TY_NO_MEMORY, "no memory for the job's claims");
    add_of_role(&claims, &spec->master, facts->object_name);
    add_of_role(&claims, &spec->worker, facts->object_name);
    *claims_out = claims;
    return TY_OK;
}

static bool note_user(void *context, int64_t job_row, const char *job_id)
{
    (void)job_row;
    (void)job_id;
    *(bool *)context = true;
    return false;
}

/* Whether a live job mounts it; when that cannot be told it counts as used. */
static bool in_use(struct ty_engine *engine, const char *namespace, const char *claim)
{
    struct ty_reader *reader = NULL;
    struct ty_error err = {0};
    bool used = false;
    if (ty_reader_open(engine->options.store, &reader, &err) != TY_OK)
        return true;
    if (ty_volumes_waiters(reader, namespace, claim, note_user, &used, &err) != TY_OK)
        used = true;
    ty_reader_close(reader);
    return used;
}

void claims_remove(struct ty_engine *engine, const struct job_facts *facts,
                   const struct own_claims *claims)
{
    struct ty_executor *executor = engine->options.executor;
    for (size_t i = 0; i < claims->count; i++) {
        const char *claim = claims->names[i];
        struct ty_error err = {0};
        if (in_use(engine, facts->namespace, claim))
            continue;
        ty_status status = executor->ops->remove_claim(executor, facts->namespace, claim, &err);
        if (status != TY_OK && status != TY_NOT_FOUND)
            ty_log(engine->options.log, TY_LOG_WARNING, "claim_not_removed", "%s of %s: %s", claim,
                   facts->id, err.text);
    }
}

void claims_done(struct own_claims *claims)
{
    free(claims->names);
    *claims = (struct own_claims){0};
}
