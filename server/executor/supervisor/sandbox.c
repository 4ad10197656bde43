/* The root is built on a tmpfs, since mount points cannot be made under a read-only root: what the
 * image's folder holds is bound into it entry by entry. Where a mount point is missing deep inside
 * such an entry, the entry is opened up: its folder is made anew and its children are bound one by
 * one, and so on down to the missing part.
 *
 * From this machine's own root only what programs need is shown: /usr and its links, /opt, and of
 * /etc a list of files that hold no secrets. */
#include "executor/supervisor/sandbox.h"

#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"

#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

enum { DEFAULT_SHM_BYTES = 64 * 1024 * 1024, DEPTH_MAX = 16 };

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define SHIM_FOLDER  "/.trainyard/bin"

static const char *const host_entries[] = {"usr",   "bin",   "sbin",   "lib",
                                           "lib32", "lib64", "libx32", "opt"};

static const char *const host_etc[] = {
    "alternatives",    "bash.bashrc",    "ca-certificates", "ca-certificates.conf",
    "crypto-policies", "debian_version", "fonts",           "gai.conf",
    "group",           "host.conf",      "inputrc",         "ld.so.cache",
    "ld.so.conf",      "ld.so.conf.d",   "locale.alias",    "localtime",
    "magic",           "mime.types",     "nsswitch.conf",   "nvidia",
    "OpenCL",          "os-release",     "passwd",          "pki",
    "profile",         "protocols",      "python3",         "resolv.conf",
    "services",        "shells",         "ssl/certs",       "ssl/openssl.cnf",
    "terminfo",        "timezone",       "vulkan"};

/* Parts of /proc that tune the machine. Root needs no capability to write there, only its user id,
 * which the programs of a gateway run by root have; bwrap covers some of them at best. */
static const char *const machine_settings[] = {"/proc/acpi", "/proc/bus",          "/proc/fs",
                                               "/proc/irq",  "/proc/mtrr",         "/proc/scsi",
                                               "/proc/sys",  "/proc/sysrq-trigger"};

static const char *const fixed_options[] = {TY_SANDBOX_ISOLATION, "--as-pid-1", "--clearenv",
                                            "--tmpfs", "/"};

static const char *const hidden_entries[] = {"proc", "dev", "sys", "tmp", "run", ".", ".."};

struct builder {
    struct ty_buf *args;
    const struct ty_plan_replica *replica;
    int depth;
};

static void add(struct ty_buf *args, const char *text)
{
    ty_buf_add(args, text, strlen(text) + 1);
}

static void add3(struct ty_buf *args, const char *option, const char *first, const char *second)
{
    add(args, option);
    add(args, first);
    add(args, second);
}

static void join(char out[PATH_MAX], const char *folder, const char *name)
{
    snprintf(out, PATH_MAX, "%s/%s", ty_str_equal(folder, "/") ? "" : folder, name);
}

/* Whether `target` lies beneath `inside` but is missing in the folder that would be bound there. */
static bool target_missing(const char *target, const char *inside, const char *source)
{
    size_t len = strlen(inside);
    if (strncmp(target, inside, len) != 0 || target[len] != '/')
        return false;
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s%s", source, target + len) >= (int)sizeof path)
        return false;
    struct stat info;
    return stat(path, &info) != 0;
}

static bool needs_opening(const struct builder *builder, const char *inside, const char *source)
{
    const struct ty_plan_replica *replica = builder->replica;
    for (size_t i = 0; i < replica->mount_count; i++) {
        if (target_missing(replica->mounts[i].target, inside, source))
            return true;
    }
    return target_missing(replica->working_dir, inside, source) ||
           target_missing("/etc/hosts", inside, source);
}

static void show(struct builder *builder, const char *source, const char *inside);

static void show_children(struct builder *builder, const char *source, const char *inside)
{
    DIR *folder = opendir(source);
    if (!folder)
        return;
    add(builder->args, "--dir");
    add(builder->args, inside);
    builder->depth++;
    for (struct dirent *entry; (entry = readdir(folder));) {
        char from[PATH_MAX];
        char to[PATH_MAX];
        if (ty_str_equal(entry->d_name, ".") || ty_str_equal(entry->d_name, ".."))
            continue;
        join(from, source, entry->d_name);
        join(to, inside, entry->d_name);
        show(builder, from, to);
    }
    builder->depth--;
    closedir(folder);
}

/* The machine's resolver settings stand in for the image's. A link there may lead anywhere and is
 * left alone. */
static void add_resolver(const struct ty_plan_replica *replica, struct ty_buf *args)
{
    struct stat info;
    char path[PATH_MAX];
    join(path, replica->root, "etc/resolv.conf");
    if (!ty_str_equal(replica->root, "/") && lstat(path, &info) == 0 && S_ISREG(info.st_mode))
        add3(args, "--ro-bind-try", "/etc/resolv.conf", "/etc/resolv.conf");
}

/* Show one entry of a root: a link as a link, anything else bound read-only, opened up where a
 * mount needs it. */
static void show(struct builder *builder, const char *source, const char *inside)
{
    struct stat info;
    char link[PATH_MAX];
    if (lstat(source, &info) != 0)
        return;
    if (S_ISLNK(info.st_mode)) {
        ssize_t len = readlink(source, link, sizeof link - 1);
        if (len > 0) {
            link[len] = '\0';
            add3(builder->args, "--symlink", link, inside);
        }
    } else if (S_ISDIR(info.st_mode) && builder->depth < DEPTH_MAX &&
               needs_opening(builder, inside, source)) {
        show_children(builder, source, inside);
    } else {
        add3(builder->args, "--ro-bind", source, inside);
    }
}

static void show_host_root(struct builder *builder)
{
    char from[PATH_MAX];
    for (size_t i = 0; i < sizeof host_entries / sizeof *host_entries; i++) {
        join(from, "/", host_entries[i]);
        show(builder, from, from);
    }
    for (size_t i = 0; i < sizeof host_etc / sizeof *host_etc; i++) {
        join(from, "/etc", host_etc[i]);
        add3(builder->args, "--ro-bind-try", from, from);
    }
}

static bool hidden(const char *name)
{
    for (size_t i = 0; i < sizeof hidden_entries / sizeof *hidden_entries; i++) {
        if (ty_str_equal(name, hidden_entries[i]))
            return true;
    }
    return false;
}

static void show_image_root(struct builder *builder, const char *root)
{
    DIR *folder = opendir(root);
    if (!folder)
        return;
    for (struct dirent *entry; (entry = readdir(folder));) {
        char from[PATH_MAX];
        char to[PATH_MAX];
        if (hidden(entry->d_name))
            continue;
        join(from, root, entry->d_name);
        join(to, "/", entry->d_name);
        show(builder, from, to);
    }
    closedir(folder);
}

/* Where the gateway's folder would show inside, NULL = nowhere. */
static const char *find_data_inside(const char *root, const char *data)
{
    size_t root_len = strlen(root);
    if (!ty_str_equal(root, "/"))
        return ty_str_starts(data, root) && data[root_len] == '/' ? data + root_len : NULL;
    for (size_t i = 0; i < sizeof host_entries / sizeof *host_entries; i++) {
        size_t len = strlen(host_entries[i]);
        if (data[0] == '/' && ty_str_starts(data + 1, host_entries[i]) && data[len + 1] == '/')
            return data;
    }
    return NULL;
}

/* A gateway that keeps its data beneath /opt or in an image does not show it for that. */
static void hide_data(const char *root, const char *data, struct ty_buf *args)
{
    const char *inside = find_data_inside(root, data);
    if (!inside)
        return;
    add(args, "--tmpfs");
    add(args, inside);
    add(args, "--remount-ro");
    add(args, inside);
}

static bool root_has(const char *root, const char *path)
{
    char full[PATH_MAX];
    struct stat info;
    join(full, root, path);
    return lstat(full, &info) == 0;
}

/* Distributions call the interpreter python3 alone; training commands say python. */
static bool needs_python(const char *root)
{
    return root_has(root, "usr/bin/python3") && !root_has(root, "usr/bin/python") &&
           !root_has(root, "usr/local/bin/python");
}

static void add_tmpfs(struct ty_buf *args, const char *target, int64_t size_bytes)
{
    if (size_bytes > 0) {
        char text[32];
        snprintf(text, sizeof text, "%" PRId64, size_bytes);
        add(args, "--size");
        add(args, text);
    }
    add(args, "--tmpfs");
    add(args, target);
}

static bool mounts_at(const struct ty_plan_replica *replica, const char *target)
{
    for (size_t i = 0; i < replica->mount_count; i++) {
        if (ty_str_equal(replica->mounts[i].target, target))
            return true;
    }
    return false;
}

static void add_system(const struct ty_plan_replica *replica, const struct ty_sandbox *sandbox,
                       struct ty_buf *args)
{
    add3(args, "--ro-bind", sandbox->hosts_path, "/etc/hosts");
    add_resolver(replica, args);
    add(args, "--proc");
    add(args, "/proc");
    for (size_t i = 0; i < sizeof machine_settings / sizeof *machine_settings; i++)
        add3(args, "--ro-bind-try", machine_settings[i], machine_settings[i]);
    add(args, "--dev");
    add(args, "/dev");
    if (!mounts_at(replica, "/dev/shm"))
        add_tmpfs(args, "/dev/shm", DEFAULT_SHM_BYTES);
    static const char *const folders[] = {"/root", "/run", "/var/tmp"};
    for (size_t i = 0; i < 3; i++) {
        add(args, "--dir");
        add(args, folders[i]);
    }
    if (!mounts_at(replica, "/tmp"))
        add_tmpfs(args, "/tmp", 0);
}

static void add_mounts(const struct ty_plan_replica *replica, struct ty_buf *args)
{
    bool devices = false;
    for (size_t i = 0; i < replica->mount_count; i++) {
        const struct ty_plan_mount *mount = &replica->mounts[i];
        devices |= mount->kind == TY_MOUNT_DEVICE;
        if (mount->kind == TY_MOUNT_TMPFS)
            add_tmpfs(args, mount->target, mount->size_bytes);
        else if (mount->kind == TY_MOUNT_DEVICE)
            add3(args, "--dev-bind-try", mount->source, mount->target);
        else
            add3(args, mount->read_only ? "--ro-bind" : "--bind", mount->source, mount->target);
    }
    if (devices) /* drivers and NCCL look up what hangs where */
        add3(args, "--ro-bind-try", "/sys", "/sys");
}

static void add_environment(const struct ty_plan_replica *replica, struct ty_buf *args)
{
    bool shim = needs_python(replica->root);
    if (shim)
        add3(args, "--symlink", "/usr/bin/python3", SHIM_FOLDER "/python");
    add3(args, "--setenv", "PATH", shim ? DEFAULT_PATH ":" SHIM_FOLDER : DEFAULT_PATH);
    add3(args, "--setenv", "HOME", "/root");
    for (size_t i = 0; i < replica->env_count; i++)
        add3(args, "--setenv", replica->env[i].name, replica->env[i].value);
}

void ty_sandbox_options(const struct ty_plan_replica *replica, const struct ty_sandbox *sandbox,
                        struct ty_buf *args)
{
    struct builder builder = {.args = args, .replica = replica};
    for (size_t i = 0; i < sizeof fixed_options / sizeof *fixed_options; i++)
        add(args, fixed_options[i]);
    add(args, "--hostname");
    add(args, sandbox->hostname);
    if (ty_str_equal(replica->root, "/"))
        show_host_root(&builder);
    else
        show_image_root(&builder, replica->root);
    hide_data(replica->root, sandbox->data, args);
    add_system(replica, sandbox, args);
    add_mounts(replica, args);
    add(args, "--dir");
    add(args, replica->working_dir);
    add(args, "--chdir");
    add(args, replica->working_dir);
    add_environment(replica, args);
}
