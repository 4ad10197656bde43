/* The ConfigMap at the scripts' mount: a script that the command starts, and files beside it. */
#include "import.h"
#include "parts.h"

#include "trainyard/base/str.h"

#include <stdio.h>

static const struct import_choice launchers[] = {
    {"python3",  "python"  },
    {"torchrun", "torchrun"},
    {NULL,       NULL      }
};

/* The files of a role's scripts mount; taken from its mounts. */
static json_t *take_files(struct import_role *role, char at_out[IMPORT_AT])
{
    size_t index;
    json_t *mount;

    json_array_foreach(role->mounts, index, mount)
    {
        const char *path = import_get_text(mount, "mount_path");
        json_t *files = json_object_get(mount, "files");

        if (!files || !path || !ty_str_equal(path, TY_SCRIPTS_MOUNT))
            continue;
        json_incref(files);
        ty_str_copy(at_out, IMPORT_AT, import_get_text(mount, "_source_at"));
        json_array_remove(role->mounts, index);
        return files;
    }
    return NULL;
}

/* The index of the file that the command runs by a launcher, and by which. */
static bool find_script(const struct import_role *role, const json_t *files, size_t *index_out,
                        const char **launcher_out)
{
    const char *first = json_string_value(json_array_get(role->command, 0));
    const char *second = json_string_value(json_array_get(role->command, 1));
    size_t prefix = strlen(TY_SCRIPTS_MOUNT "/");
    size_t index;
    json_t *file;

    if (json_array_size(role->command) != 2 || !first || !second ||
        !ty_str_starts(second, TY_SCRIPTS_MOUNT "/"))
        return false;
    *launcher_out = NULL;
    for (const struct import_choice *choice = launchers; choice->from; choice++)
        if (ty_str_equal(choice->from, first))
            *launcher_out = choice->to;
    json_array_foreach(files, index, file)
    {
        const char *path = import_get_text(file, "path");

        if (path && *launcher_out && ty_str_equal(path, second + prefix) &&
            ty_str_equal(path, import_get_text(file, "_key")) &&
            !json_object_get(file, "encoding") &&
            json_string_length(json_object_get(file, "content")) > 0) {
            *index_out = index;
            return true;
        }
    }
    return false;
}

static void put_script(struct import *im, const json_t *file, const char *launcher)
{
    struct import_target before = import_into(im, "script", false);

    import_put(im, "name", import_copy(im, json_object_get(file, "path")));
    import_put(im, "content", import_copy(im, json_object_get(file, "content")));
    import_back(im, before);
    import_put(im, "launcher", json_string(launcher));
}

static void put_files(struct import *im, json_t *files)
{
    size_t index;
    json_t *file;

    if (json_array_size(files) == 0)
        return;
    struct import_target before = import_into(im, "files", true);

    json_array_foreach(files, index, file)
    {
        json_object_del(file, "_key");
        import_append(im, json_incref(file));
    }
    import_back(im, before);
}

static void forget_commands(struct import *im, const json_t *command)
{
    for (size_t i = 0; i < 2; i++)
        if (im->roles[i].command && json_equal(im->roles[i].command, command))
            json_object_del(im->roles[i].values, "command");
}

void import_script(struct import *im)
{
    struct import_role *lead = im->roles[0].given ? &im->roles[0] : &im->roles[1];
    struct import_role *other = lead == &im->roles[0] ? &im->roles[1] : NULL;
    char place[IMPORT_AT];
    const char *launcher = NULL;
    size_t script = 0;
    json_t *files = take_files(lead, place);
    json_t *again = other && other->given ? take_files(other, place) : NULL;

    if (other && other->given && !json_equal(files, again) && (files || again)) {
        import_go(im, &im->job);
        import_fault_in(im, "spec", "not_supported", "the roles have other files at %s",
                        TY_SCRIPTS_MOUNT);
    }
    json_decref(again);
    if (!files)
        return;
    import_aim(im, NULL);
    import_go(im, &im->job);
    im->at_len = (size_t)snprintf(im->at, sizeof(im->at), "%s", place);
    const struct import_role *runs = find_script(lead, files, &script, &launcher) ? lead : NULL;

    if (!runs && other && find_script(other, files, &script, &launcher))
        runs = other;
    if (runs) {
        put_script(im, json_array_get(files, script), launcher);
        json_array_remove(files, script);
        forget_commands(im, runs->command);
    }
    put_files(im, files);
    json_decref(files);
}
