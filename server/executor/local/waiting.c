/* What a run needs before it can begin: its claims and secrets, a root for each image, free GPUs.
 */
#include "executor/local/tracked.h"

#include "trainyard/base/str.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static bool lacks_claim(struct local *local, const struct tracked *run, char *message, size_t size)
{
    const char *claim;
    json_t *value;
    json_t *claims = json_object_get(run->plan, "claims");
    json_object_foreach(claims, claim, value)
    {
        if (!ty_local_has_claim(local, run->namespace, claim)) {
            snprintf(message, size, "volume %s does not exist; the job goes on when it is made",
                     claim);
            return true;
        }
    }
    return false;
}

/* The first of the files that is not there for the gateway to read. */
static bool lacks_key(const char *folder, const json_t *keys, char *message, size_t size)
{
    for (size_t i = 0; i < json_array_size(keys); i++) {
        const char *key = json_string_value(json_array_get(keys, i));
        const char *slash = strchr(key ? key : "", '/');
        char path[PATH_MAX];
        struct stat info;
        if (!slash)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, key);
        if (stat(path, &info) != 0 || !S_ISREG(info.st_mode)) {
            snprintf(message, size, "secret %.*s has no key %s here; the job goes on when it has",
                     (int)(slash - key), key, slash + 1);
            return true;
        }
        if (faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) != 0) {
            snprintf(message, size, "the gateway may not read key %s of secret %.*s", slash + 1,
                     (int)(slash - key), key);
            return true;
        }
    }
    return false;
}

static bool lacks_secret(const struct tracked *run, char *message, size_t size)
{
    const json_t *secrets = json_object_get(run->plan, "secrets");
    const char *folder = ty_object_text(secrets, "folder", "");
    return lacks_key(folder, json_object_get(secrets, "variables"), message, size) ||
           lacks_key(folder, json_object_get(secrets, "files"), message, size);
}

/* Roots are looked up again: the configuration may have changed since the plan was made. */
static bool lacks_root(struct local *local, const struct tracked *run, char *message, size_t size)
{
    json_t *replicas = json_object_get(run->plan, "replicas");
    for (size_t i = 0; i < json_array_size(replicas); i++) {
        json_t *replica = json_array_get(replicas, i);
        const char *image = ty_object_text(replica, "image", "");
        const char *root = ty_local_find_root(local, image);
        struct stat info;
        if (!root || stat(root, &info) != 0 || !S_ISDIR(info.st_mode)) {
            snprintf(message, size, "image %s has no root folder on this machine", image);
            return true;
        }
        json_object_set_new(replica, "root", json_string(root));
    }
    return false;
}

static const char *replica_name(const json_t *plan, size_t place)
{
    const json_t *replicas = json_object_get(plan, "replicas");
    return ty_object_text(json_array_get(replicas, place), "name", "");
}

/* GPUs of the replica at `place`, 0 when it has been given them. */
static int64_t gpus_lacking_at(const json_t *plan, size_t place)
{
    const char *name = replica_name(plan, place);
    bool given = json_object_get(json_object_get(plan, "gpu_map"), name) != NULL;
    return given ? 0 : ty_object_int(json_object_get(plan, "gpus"), name, 0);
}

static int32_t gpus_lacking(const json_t *plan, size_t size)
{
    int64_t sum = 0;
    for (size_t i = 0; i < size; i++)
        sum += gpus_lacking_at(plan, i);
    return (int32_t)sum;
}

static int32_t gpus_free(const struct local *local)
{
    int32_t count = 0;
    for (int32_t i = 0; i < local->host.gpus; i++)
        count += local->gpu_holders[i] == NULL;
    return count;
}

static bool lacks_gpus(const struct local *local, const struct tracked *run, char *message,
                       size_t size)
{
    int32_t wanted = gpus_lacking(run->plan, ty_plan_size(run->plan));
    int32_t free_count = gpus_free(local);
    if (wanted <= free_count)
        return false;
    snprintf(message, size, "%d GPUs are needed, %d of %d are free", (int)wanted, (int)free_count,
             (int)local->host.gpus);
    return true;
}

ty_job_cause ty_local_lacks(struct local *local, struct tracked *run, char *message, size_t size)
{
    if (lacks_claim(local, run, message, size))
        return TY_CAUSE_VOLUME_NOT_FOUND;
    if (lacks_secret(run, message, size))
        return TY_CAUSE_SECRET_NOT_FOUND;
    if (lacks_root(local, run, message, size))
        return TY_CAUSE_IMAGE_PULL_FAILED;
    if (lacks_gpus(local, run, message, size))
        return TY_CAUSE_UNSCHEDULABLE;
    return TY_CAUSE_NONE;
}

/* "0,1" for one replica. */
static void take_for(struct local *local, const struct tracked *run, int64_t count, char *out,
                     size_t size)
{
    size_t len = 0;
    out[0] = '\0';
    for (int32_t i = 0; i < local->host.gpus && count > 0; i++) {
        if (local->gpu_holders[i])
            continue;
        local->gpu_holders[i] = run;
        len += (size_t)snprintf(out + len, size - len, "%s%d", len ? "," : "", (int)i);
        count--;
    }
}

bool ty_local_take_gpus(struct local *local, struct tracked *run, size_t size)
{
    if (gpus_lacking(run->plan, size) > gpus_free(local))
        return false;
    if (!json_object_get(run->plan, "gpu_map") &&
        json_object_set_new(run->plan, "gpu_map", json_object()) != 0)
        return false;
    json_t *map = json_object_get(run->plan, "gpu_map");
    for (size_t i = 0; i < size; i++) {
        char list[LOCAL_GPUS_MAX * 4];
        int64_t count = gpus_lacking_at(run->plan, i);
        if (count == 0)
            continue;
        take_for(local, run, count, list, sizeof list);
        json_object_set_new(map, replica_name(run->plan, i), json_string(list));
    }
    return true;
}

void ty_local_release_gpus(struct local *local, const struct tracked *run)
{
    for (int32_t i = 0; i < LOCAL_GPUS_MAX; i++) {
        if (local->gpu_holders[i] == run)
            local->gpu_holders[i] = NULL;
    }
}

/* Set the holder of each GPU of a list such as "0,1". */
static void set_holder(struct local *local, const char *list, const struct tracked *from,
                       const struct tracked *to)
{
    char *next = NULL;
    for (const char *at = list; at && *at; at = *next == ',' ? next + 1 : next) {
        long number = strtol(at, &next, 10);
        if (next == at)
            break;
        if (number >= 0 && number < LOCAL_GPUS_MAX && (!from || local->gpu_holders[number] == from))
            local->gpu_holders[number] = to;
    }
}

void ty_local_release_replica(struct local *local, const struct tracked *run, const char *replica)
{
    json_t *map = json_object_get(run->plan, "gpu_map");
    set_holder(local, json_string_value(json_object_get(map, replica)), run, NULL);
    json_object_del(map, replica);
}

void ty_local_adopt_gpus(struct local *local, const struct tracked *run, const json_t *plan)
{
    const char *name;
    json_t *list;
    json_t *map = json_object_get(plan, "gpu_map");
    json_object_foreach(map, name, list) set_holder(local, json_string_value(list), NULL, run);
}
