#include "fake.h"
#include "journal.h"
#include "sim_vfs.h"

#include "trainyard/base/str.h"
#include "trainyard/store/tenants.h"

#include <stdio.h>
#include <stdlib.h>

#define SIM_VFS   "sim"
#define SIM_EPOCH INT64_C(1767225600000000) /* 2026-01-01 */

static int64_t world_wall(void *context)
{
    return ((const struct world *)context)->wall_us;
}

static int64_t world_monotonic(void *context)
{
    return ((const struct world *)context)->monotonic_ms;
}

/* Manifests are tested elsewhere; here only when they are applied matters. */
static ty_status render_nothing(const struct ty_render_input *input,
                                struct ty_manifest *manifest_out, struct ty_faults *faults,
                                struct ty_error *err)
{
    (void)input;
    (void)faults;
    (void)err;
    manifest_out->objects = NULL;
    return TY_OK;
}

static const struct ty_renderer renderer = {.kind = "Nothing", .render = render_nothing};

void world_init(struct world *world, const struct sim_options *options)
{
    *world = (struct world){.options = *options, .wall_us = SIM_EPOCH, .monotonic_ms = 1000};
    world->random = ty_random_seeded(&world->seeded, options->seed);
    world->clock =
        (struct ty_clock){.wall_us = world_wall, .monotonic_ms = world_monotonic, .context = world};
    world->log =
        (struct ty_log){.clock = &world->clock, .fd = 2, .level = TY_LOG_DEBUG, .format = "text"};
    world->disk = sim_vfs_create(SIM_VFS, options->seed);
    world->fake = fake_create(world);
    world->journal = calloc(1, sizeof(*world->journal));
    if (!world->disk || !world->journal)
        abort();
    world->faults = true;
    for (size_t i = 0; i < SIM_TENANTS; i++)
        world->quotas[i] = (struct ty_quota){.max_jobs = -1,
                                             .max_queued = chance(world, 300) ? 4 : -1,
                                             .max_replicas = chance(world, 400) ? 4 : -1,
                                             .max_gpus = -1};
}

void world_fail(struct world *world, const char *format, ...)
{
    if (world->failed)
        return;
    world->failed = true;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(world->failure, sizeof(world->failure), format, arguments);
    va_end(arguments);
}

void world_say(const struct world *world, const char *format, ...)
{
    if (!world->options.verbose)
        return;
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%5d %12.3f  ", world->step, (double)world->monotonic_ms / 1000);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

bool world_dead(const struct world *world)
{
    return world->crashing || sim_vfs_is_cut(world->disk);
}

void world_die(struct world *world)
{
    world_say(world, "dies in the middle of a call");
    world->crashing = true;
    sim_vfs_cut(world->disk);
}

/* --- tenants --- */
struct tenants_write {
    struct ty_write write;
    struct world *world;
};

static ty_status make_tenant(struct ty_writer *writer, struct world *world, size_t index,
                             struct ty_error *err)
{
    struct ty_tenant_record tenant = {.name = world->namespaces[index],
                                      .namespace = world->namespaces[index],
                                      .quota = world->quotas[index],
                                      .default_keep_seconds = -1,
                                      .created_at = world->wall_us,
                                      .updated_at = world->wall_us};
    ty_status status = ty_tenants_find(writer, tenant.name, &tenant, err);
    if (status == TY_NOT_FOUND)
        status = ty_tenants_insert(writer, &tenant, err);
    if (status == TY_OK)
        world->tenants[index] = tenant.row;
    return status;
}

static ty_status make_tenants(struct ty_writer *writer, struct ty_write *write,
                              struct ty_error *err)
{
    struct world *world = ((struct tenants_write *)write)->world;
    for (size_t i = 0; i < SIM_TENANTS; i++) {
        snprintf(world->namespaces[i], sizeof(world->namespaces[i]), "tenant-%zu", i);
        ty_status status = make_tenant(writer, world, i, err);
        if (status != TY_OK)
            return status;
    }
    return TY_OK;
}

/* --- open and close --- */
static ty_status open_engine(struct world *world, struct ty_error *err)
{
    struct tenants_write write = {.write = {.apply = make_tenants}, .world = world};
    ty_status status = ty_store_write_wait(world->store, &write.write, err);
    if (status == TY_OK)
        status = ty_reader_open(world->store, &world->reader, err);
    if (status != TY_OK)
        return status;
    struct ty_engine_options options = {.store = world->store,
                                        .executor = fake_executor(world->fake),
                                        .renderer = &renderer,
                                        .hub = world->hub,
                                        .clock = &world->clock,
                                        .random = &world->random,
                                        .log = world->options.verbose ? &world->log : NULL};
    return ty_engine_create(&options, &world->engine, err);
}

static void close_all(struct world *world)
{
    if (world->engine)
        ty_engine_stop(world->engine);
    ty_reader_close(world->reader);
    ty_store_close(world->store);
    ty_engine_destroy(world->engine);
    ty_hub_destroy(world->hub);
    world->engine = NULL;
    world->reader = NULL;
    world->store = NULL;
    world->hub = NULL;
}

ty_status world_open(struct world *world, struct ty_error *err)
{
    struct ty_store_options options = {
        .folder = "sim", .vfs = SIM_VFS, .clock = &world->clock, .threaded = false};
    /* Commits of one write and of many; at times a queue that is soon full. */
    options.group_max = chance(world, 500) ? 1 + (size_t)below(world, 4) : 0;
    options.queue_capacity = fault(world, 200) ? 2 + (size_t)below(world, 4) : 0;
    ty_status status = ty_hub_create(256, &world->hub, err);
    if (status == TY_OK)
        status = ty_store_open(&options, &world->store, err);
    if (status == TY_OK)
        status = open_engine(world, err);
    if (status == TY_OK)
        return TY_OK;
    close_all(world);
    return status;
}

void world_crash(struct world *world, bool machine)
{
    world_say(world, machine ? "--- power cut ---" : "--- killed ---");
    world->crashing = true;
    sim_vfs_cut(world->disk);
    close_all(world);
    if (machine)
        sim_vfs_crash(world->disk);
    else
        sim_vfs_kill(world->disk);
    fake_crash(world->fake, machine);
    int64_t down_ms =
        chance(world, 700) ? (int64_t)below(world, 100) : (int64_t)below(world, 120000);
    world->monotonic_ms += down_ms;
    world->wall_us += down_ms * 1000;
    world->crashing = false;
    world->crashes++;
    world->next_turn = 0;
    world->journal->recheck = true;
}

void world_done(struct world *world)
{
    sim_vfs_cut(world->disk); /* nothing of this is to be kept */
    world->crashing = true;
    close_all(world);
    sim_vfs_destroy(world->disk);
    fake_destroy(world->fake);
    free(world->journal);
}
