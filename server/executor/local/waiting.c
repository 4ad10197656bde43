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

static int32_t gpus_wanted(const json_t *plan)
{
    const char *name;
    json_t *count;
    int32_t sum = 0;
    json_t *gpus = json_object_get(plan, "gpus");
    json_object_foreach(gpus, name, count) sum += (int32_t)json_integer_value(count);
    return sum;
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
    int32_t wanted = gpus_wanted(run->plan);
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

bool ty_local_take_gpus(struct local *local, struct tracked *run)
{
    if (gpus_wanted(run->plan) > gpus_free(local))
        return false;
    const char *name;
    json_t *count;
    json_t *gpus = json_object_get(run->plan, "gpus");
    json_t *map = json_object();
    json_object_foreach(gpus, name, count)
    {
        char list[LOCAL_GPUS_MAX * 4];
        take_for(local, run, json_integer_value(count), list, sizeof list);
        json_object_set_new(map, name, json_string(list));
    }
    return json_object_set_new(run->plan, "gpu_map", map) == 0;
}

void ty_local_release_gpus(struct local *local, const struct tracked *run)
{
    for (int32_t i = 0; i < LOCAL_GPUS_MAX; i++) {
        if (local->gpu_holders[i] == run)
            local->gpu_holders[i] = NULL;
    }
}

void ty_local_adopt_gpus(struct local *local, const struct tracked *run, const json_t *plan)
{
    const char *name;
    json_t *list;
    json_t *map = json_object_get(plan, "gpu_map");
    json_object_foreach(map, name, list)
    {
        char *next = NULL;
        const char *at = json_string_value(list);
        for (; at && *at; at = *next == ',' ? next + 1 : next) {
            long number = strtol(at, &next, 10);
            if (next == at)
                break;
            if (number >= 0 && number < LOCAL_GPUS_MAX)
                local->gpu_holders[number] = run;
        }
    }
}
