/* A bug put in on purpose: linked in front of the store's function (ld --wrap), so the product
 * knows nothing of it. */
#include "bugs.h"

static struct world *bugged;

void bugs_watch(struct world *world)
{
    bugged = world;
}

ty_status __real_ty_jobs_save_step(struct ty_writer *writer, struct ty_job_record *record,
                                   ty_step_result result, const struct ty_job_status *next,
                                   const char *replica_list, struct ty_error *err);
ty_status __wrap_ty_jobs_save_step(struct ty_writer *writer, struct ty_job_record *record,
                                   ty_step_result result, const struct ty_job_status *next,
                                   const char *replica_list, struct ty_error *err);

/* One step in five hundred is only believed to be stored. */
ty_status __wrap_ty_jobs_save_step(struct ty_writer *writer, struct ty_job_record *record,
                                   ty_step_result result, const struct ty_job_status *next,
                                   const char *replica_list, struct ty_error *err)
{
    if (!bugged || bugged->options.bug != BUG_LOST_COMMIT || !chance(bugged, 2))
        return __real_ty_jobs_save_step(writer, record, result, next, replica_list, err);
    record->status = *next;
    record->revision++;
    return TY_OK;
}
