/* Rules for paths that users name: inside containers, below volumes and below the scripts. */
#include "spec_parts.h"

#include "trainyard/base/str.h"

enum { PATH_BYTES = 255, FILE_NAME_BYTES = 255, FILE_PATH_BYTES = 1024 };

/* A mount at or below these would hide or expose parts of the system or of the gateway's own. */
static const char *const system_folders[] = {
    "bin",  "boot", "dev",     "etc",  "lib", "lib32", "lib64",     "libx32",
    "proc", "run",  "scripts", "sbin", "sys", "tmp",   "trainyard", "usr",
};

/* What is wrong with the segments between slashes of `path`. */
static const char *segment_fault(const char *path)
{
    for (;;) {
        size_t len = strcspn(path, "/");

        if (len == 0)
            return "has an empty segment";
        if ((len == 1 && path[0] == '.') || (len == 2 && path[0] == '.' && path[1] == '.'))
            return "has a dot segment";
        if (len > FILE_NAME_BYTES)
            return "has a segment of more than 255 bytes";
        if (path[len] == '\0')
            return NULL;
        path += len + 1;
    }
}

static const char *byte_fault(const char *path, const char *also_refused)
{
    for (; *path; path++) {
        if ((unsigned char)*path < 0x20 || *path == 0x7f)
            return "has a control character";
        if (strchr(also_refused, *path))
            return "has a character that is not allowed in paths";
    }
    return NULL;
}

static bool in_system_folder(const char *path)
{
    size_t len = strcspn(path + 1, "/");

    for (size_t i = 0; i < sizeof(system_folders) / sizeof(system_folders[0]); i++)
        if (strlen(system_folders[i]) == len && memcmp(system_folders[i], path + 1, len) == 0)
            return true;
    return false;
}

static const char *absolute_fault(const char *path)
{
    if (path[0] != '/')
        return "must be absolute";
    if (strlen(path) > PATH_BYTES)
        return "has more than 255 bytes";
    const char *fault = segment_fault(path + 1);

    return fault ? fault : byte_fault(path, ":\\");
}

const char *ty_spec_absolute_path_fault(const char *path)
{
    const char *fault = absolute_fault(path);

    return !fault && in_system_folder(path) ? "lies in a folder of the system" : fault;
}

const char *ty_spec_secret_path_fault(const char *path)
{
    const char *fault = absolute_fault(path);

    if (!fault && in_system_folder(path) && !ty_str_starts(path, "/run/"))
        fault = "lies in a folder of the system";
    return fault;
}

const char *ty_spec_relative_path_fault(const char *path)
{
    if (path[0] == '/')
        return "must be relative";
    if (strlen(path) > PATH_BYTES)
        return "has more than 255 bytes";
    const char *fault = segment_fault(path);

    return fault ? fault : byte_fault(path, ":\\");
}

const char *ty_spec_file_path_fault(const char *path)
{
    if (path[0] == '/')
        return "must be relative";
    if (strlen(path) > FILE_PATH_BYTES)
        return "has more than 1024 bytes";
    if (ty_str_starts(path, ".."))
        return "must not begin with two dots"; /* the cluster refuses such paths of ConfigMap items
                                                */
    const char *fault = segment_fault(path);

    return fault ? fault : byte_fault(path, "\\");
}

const char *ty_spec_path_below(const char *path, const char *folder)
{
    size_t len = strlen(folder);

    if (strncmp(path, folder, len) != 0)
        return NULL;
    if (path[len] == '/')
        return path + len + 1;
    return path[len] == '\0' ? path + len : NULL;
}
