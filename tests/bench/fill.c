/* Fill a data folder with finished jobs through the store's own writer, for figures at a large
 * number of jobs:
 *
 *     fill FOLDER COUNT
 *
 * A folder that has as many already is left as it is. No server may have the folder open. */
#include "trainyard/base/clock.h"
#include "trainyard/base/random.h"
#include "trainyard/store/jobs.h"
#include "trainyard/store/tenants.h"

#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Writes of one row fit the queue; each slot is used again when its write is done. */
enum { SLOTS = 1024 };

static const char spec[] =
    "{\"name\":\"mnist\",\"image\":\"pytorch/pytorch:2.0.0\",\"epochs\":10,\"gpus\":1,"
    "\"dataset\":\"training-data-pvc\",\"script\":\"import torch\\nprint(torch.__version__)\\n\"}";

struct slot {
    struct ty_write write;
    struct ty_job_insert insert;
    char id[TY_ID_TEXT];
    char object_name[TY_OBJECT_NAME];
    sem_t *free; /* of the whole ring: writes are done in the order they were handed over */
};

static void die(const char *what, const struct ty_error *err)
{
    fprintf(stderr, "fill: %s: %s\n", what, err->text);
    exit(1);
}

static void name_job(struct slot *slot)
{
    ty_id_make(ty_random_system(), slot->insert.record.created_at, "job_", slot->id);
    ty_object_name_make("mnist", slot->id, slot->object_name);
}

/* Among a million names of 40 random bits one is taken now and then: another, as a submit does. */
static ty_status apply(struct ty_writer *writer, struct ty_write *write, struct ty_error *err)
{
    struct slot *slot = (struct slot *)write;
    ty_status status;
    while ((status = ty_jobs_insert(writer, &slot->insert, NULL, err)) == TY_CONFLICT)
        name_job(slot);
    return status;
}

static void done(struct ty_write *write, ty_status status, const struct ty_error *err)
{
    if (status != TY_OK)
        die("insert", err);
    sem_post(((struct slot *)write)->free);
}

static void prepare_slot(struct slot *slot, int64_t tenant, int64_t at)
{
    slot->write = (struct ty_write){.apply = apply, .done = done};
    slot->insert = (struct ty_job_insert){
        .record = {.tenant = tenant,
                   .id = slot->id,
                   .name = "mnist",
                   .object_name = slot->object_name,
                   .namespace = "default",
                   .image = "pytorch/pytorch:2.0.0",
                   .labels = "{\"team\":\"vision\"}",
                   .executor = "local",
                   .replicas = 1,
                   .gpus = 1,
                   .epochs = 10,
                   .keep_seconds = -1,
                   .created_at = at,
                   .status = {.state = TY_JOB_SUCCEEDED,
                              .cause = TY_CAUSE_COMPLETED,
                              .sequence = 4,
                              .attempt = 1,
                              .started_at = at,
                              .finished_at = at}},
        .spec = spec,
        .spec_len = sizeof(spec) - 1,
    };
    name_job(slot);
}

static bool note_tenant(void *context, const struct ty_tenant_record *tenant)
{
    *(int64_t *)context = tenant->row;
    return true;
}

static int64_t count_jobs(struct ty_store *store, int64_t *tenant_out)
{
    struct ty_error err;
    struct ty_reader *reader;
    struct ty_tenant_counts counts;
    if (ty_reader_open(store, &reader, &err) != TY_OK ||
        ty_tenants_get(reader, TY_TENANT_DEFAULT, note_tenant, tenant_out, &err) != TY_OK ||
        ty_tenants_count(reader, *tenant_out, &counts, &err) != TY_OK)
        die("count", &err);
    ty_reader_close(reader);
    return counts.jobs;
}

static void fill(struct ty_store *store, int64_t tenant, int64_t count)
{
    struct slot *slots = calloc(SLOTS, sizeof(*slots));
    struct ty_error err;
    sem_t free_slots;
    if (!slots)
        exit(1);
    sem_init(&free_slots, 0, SLOTS);
    for (int64_t made = 0; made < count; made++) {
        struct slot *slot = &slots[made % SLOTS];
        while (sem_wait(&free_slots) < 0)
            continue;
        prepare_slot(slot, tenant, ty_now_us(ty_clock_system()));
        slot->free = &free_slots;
        if (ty_store_write(store, &slot->write, &err) != TY_OK)
            die("write", &err);
    }
    for (int left = 0; left < SLOTS; left++)
        while (sem_wait(&free_slots) < 0)
            continue;
    sem_destroy(&free_slots);
    free(slots);
}

int main(int argc, char **argv)
{
    struct ty_store *store;
    struct ty_error err;
    int64_t tenant = 0;
    if (argc != 3) {
        fprintf(stderr, "usage: fill FOLDER COUNT\n");
        return 2;
    }
    const struct ty_store_options options = {
        .folder = argv[1], .clock = ty_clock_system(), .threaded = true};
    if (ty_store_open(&options, &store, &err) != TY_OK)
        die(argv[1], &err);
    int64_t missing = strtoll(argv[2], NULL, 10) - count_jobs(store, &tenant);
    if (missing > 0)
        fill(store, tenant, missing);
    ty_store_close(store);
    return 0;
}
