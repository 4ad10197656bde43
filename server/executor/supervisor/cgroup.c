/* Finding a place: version 2 needs a parent that hands the controllers down and holds no process of
 * its own, so our group's parent is tried first (where a service manager put us), then our own,
 * then the root. Version 1 has no such rule: below our own group, then the root. */
#include "executor/supervisor/cgroup.h"

#include "trainyard/base/buf.h"
#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

enum { CPU_PERIOD_US = 100000, TEXT_MAX = 1 << 20 };

static bool write_value(const char *folder, const char *file, const char *text)
{
    char path[TY_CGROUP_PATH + 64];
    if (snprintf(path, sizeof path, "%s/%s", folder, file) >= (int)sizeof path)
        return false;
    ty_auto_fd fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

static bool write_number(const char *folder, const char *file, int64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, value);
    return write_value(folder, file, text);
}

/* Copy the `field`th blank-separated word (from 0) of a line. */
static bool copy_field(const char *line, size_t line_len, size_t field, char *out, size_t size)
{
    size_t at = 0;
    for (size_t i = 0; i < field; i++) {
        const char *blank = memchr(line + at, ' ', line_len - at);
        if (!blank)
            return false;
        at = (size_t)(blank - line) + 1;
    }
    const char *end = memchr(line + at, ' ', line_len - at);
    size_t len = end ? (size_t)(end - line) - at : line_len - at;
    if (len >= size)
        return false;
    memcpy(out, line + at, len);
    out[len] = '\0';
    return true;
}

static bool has_word(const char *list, const char *word)
{
    size_t len = strlen(word);
    for (const char *at = list; (at = strstr(at, word)); at += len) {
        bool begins = at == list || at[-1] == ',';
        bool ends = at[len] == '\0' || at[len] == ',' || at[len] == '\n';
        if (begins && ends)
            return true;
    }
    return false;
}

/* The mount point of a controller ("memory"), or of version 2 when `controller` is NULL. */
static bool find_mount(const char *mountinfo, const char *controller, char out[TY_CGROUP_PATH])
{
    const char *type = controller ? " - cgroup " : " - cgroup2 ";
    for (const char *line = mountinfo; *line;) {
        const char *end = strchrnul(line, '\n');
        size_t len = (size_t)(end - line);
        const char *sep = memmem(line, len, type, strlen(type));
        char options[256] = "";
        bool found = sep != NULL;
        if (found && controller)
            found =
                copy_field(sep + 3, len - (size_t)(sep + 3 - line), 2, options, sizeof options) &&
                has_word(options, controller);
        if (found && copy_field(line, len, 4, out, TY_CGROUP_PATH))
            return true;
        line = *end ? end + 1 : end;
    }
    return false;
}

/* Our own group's path in the tree of `controller` (NULL = version 2), "/" when it is not told. */
static void find_own(const char *membership, const char *controller, char out[TY_CGROUP_PATH])
{
    ty_str_copy(out, TY_CGROUP_PATH, "/");
    for (const char *line = membership; *line;) {
        const char *end = strchrnul(line, '\n');
        const char *list = memchr(line, ':', (size_t)(end - line));
        const char *path = list ? memchr(list + 1, ':', (size_t)(end - list - 1)) : NULL;
        if (path) {
            char names[256];
            snprintf(names, sizeof names, "%.*s", (int)(path - list - 1), list + 1);
            if (controller ? has_word(names, controller) : names[0] == '\0') {
                snprintf(out, TY_CGROUP_PATH, "%.*s", (int)(end - path - 1), path + 1);
                return;
            }
        }
        line = *end ? end + 1 : end;
    }
}

static bool make_folder(const char *mount, const char *parent, const char *name,
                        char out[TY_CGROUP_PATH])
{
    const char *inner = ty_str_equal(parent, "/") ? "" : parent;
    if (snprintf(out, TY_CGROUP_PATH, "%s%s/trainyard-%s", mount, inner, name) >= TY_CGROUP_PATH)
        return false;
    return mkdir(out, 0755) == 0 || errno == EEXIST;
}

static int open_procs(const char *folder)
{
    char path[TY_CGROUP_PATH + 64];
    snprintf(path, sizeof path, "%s/cgroup.procs", folder);
    return open(path, O_WRONLY | O_CLOEXEC);
}

static bool set_memory(const char *folder, bool unified, int64_t bytes)
{
    bool set = write_number(folder, unified ? "memory.max" : "memory.limit_in_bytes", bytes);
    /* Without swap the limit means what it says; kernels without swap accounting lack these files.
     */
    if (unified)
        (void)write_value(folder, "memory.swap.max", "0");
    else
        (void)write_number(folder, "memory.memsw.limit_in_bytes", bytes);
    return set;
}

static bool set_cpu(const char *folder, bool unified, int64_t millis)
{
    int64_t quota = millis * (CPU_PERIOD_US / 1000);
    if (!unified)
        return write_number(folder, "cpu.cfs_period_us", CPU_PERIOD_US) &&
               write_number(folder, "cpu.cfs_quota_us", quota);
    char text[64];
    snprintf(text, sizeof text, "%" PRId64 " %d", quota, CPU_PERIOD_US);
    return write_value(folder, "cpu.max", text);
}

/* Apply the limits to one version 2 folder. False (and the folder removed) when none is in force.
 */
static bool use_unified(const char *folder, const struct ty_cgroup_limits *limits,
                        struct ty_cgroup *out)
{
    int procs = open_procs(folder);
    bool memory =
        limits->memory_bytes > 0 && procs >= 0 && set_memory(folder, true, limits->memory_bytes);
    bool cpu = limits->cpu_millis > 0 && procs >= 0 && set_cpu(folder, true, limits->cpu_millis);
    if (!memory && !cpu) {
        if (procs >= 0)
            close(procs);
        rmdir(folder);
        return false;
    }
    if (memory)
        ty_str_copy(out->memory, sizeof out->memory, folder);
    if (cpu)
        ty_str_copy(out->cpu, sizeof out->cpu, folder);
    out->unified = true;
    out->procs_fds[0] = procs;
    return true;
}

static bool try_unified(const struct ty_cgroup_host *host, const char *name,
                        const struct ty_cgroup_limits *limits, struct ty_cgroup *out)
{
    char mount[TY_CGROUP_PATH];
    char own[TY_CGROUP_PATH];
    char folder[TY_CGROUP_PATH];
    if (!find_mount(host->mountinfo, NULL, mount))
        return false;
    find_own(host->membership, NULL, own);
    char parent[TY_CGROUP_PATH];
    ty_str_copy(parent, sizeof parent, own);
    char *slash = strrchr(parent, '/');
    if (slash)
        slash[slash == parent] = '\0';
    const char *const places[] = {parent, own, "/"};
    for (size_t i = 0; i < 3; i++) {
        if (make_folder(mount, places[i], name, folder) && use_unified(folder, limits, out))
            return true;
    }
    return false;
}

/* One version 1 tree: *folder_out is "" when the limit is not in force. */
static void try_tree(const struct ty_cgroup_host *host, const char *controller, const char *name,
                     int64_t limit, char folder_out[TY_CGROUP_PATH], int *procs_out)
{
    char mount[TY_CGROUP_PATH];
    char own[TY_CGROUP_PATH];
    bool memory = ty_str_equal(controller, "memory");
    if (limit <= 0 || !find_mount(host->mountinfo, controller, mount))
        return;
    find_own(host->membership, controller, own);
    const char *const places[] = {own, "/"};
    for (size_t i = 0; i < 2; i++) {
        char folder[TY_CGROUP_PATH];
        if (!make_folder(mount, places[i], name, folder))
            continue;
        int procs = open_procs(folder);
        if (procs >= 0 &&
            (memory ? set_memory(folder, false, limit) : set_cpu(folder, false, limit))) {
            ty_str_copy(folder_out, TY_CGROUP_PATH, folder);
            *procs_out = procs;
            return;
        }
        if (procs >= 0)
            close(procs);
        rmdir(folder);
    }
}

void ty_cgroup_make(const struct ty_cgroup_host *host, const char *name,
                    const struct ty_cgroup_limits *limits, struct ty_cgroup *out)
{
    *out = (struct ty_cgroup){
        .procs_fds = {-1, -1}
    };
    if (limits->memory_bytes <= 0 && limits->cpu_millis <= 0)
        return;
    if (try_unified(host, name, limits, out))
        return;
    try_tree(host, "memory", name, limits->memory_bytes, out->memory, &out->procs_fds[0]);
    try_tree(host, "cpu", name, limits->cpu_millis, out->cpu, &out->procs_fds[1]);
}

static void read_text(const char *path, struct ty_buf *text)
{
    ty_auto_fd fd = open(path, O_RDONLY | O_CLOEXEC);
    char *room;
    while (fd >= 0 && (room = ty_buf_reserve(text, 4096))) {
        ssize_t len = read(fd, room, 4096);
        if (len <= 0)
            break;
        ty_buf_grew(text, (size_t)len);
    }
    ty_buf_addc(text, '\n');
}

void ty_cgroup_make_here(const char *name, const struct ty_cgroup_limits *limits,
                         struct ty_cgroup *out)
{
    *out = (struct ty_cgroup){
        .procs_fds = {-1, -1}
    };
    if (limits->memory_bytes <= 0 && limits->cpu_millis <= 0)
        return;
    ty_auto_buf mountinfo = {0};
    ty_auto_buf membership = {0};
    ty_buf_init(&mountinfo, TEXT_MAX);
    ty_buf_init(&membership, TEXT_MAX);
    read_text("/proc/self/mountinfo", &mountinfo);
    read_text("/proc/self/cgroup", &membership);
    if (!mountinfo.data || !membership.data)
        return;
    ty_cgroup_make(&(struct ty_cgroup_host){mountinfo.data, membership.data}, name, limits, out);
}

int64_t ty_cgroup_oom_kills(const struct ty_cgroup *group)
{
    if (!group->memory[0])
        return 0;
    char path[TY_CGROUP_PATH + 64];
    snprintf(path, sizeof path, "%s/%s", group->memory,
             group->unified ? "memory.events" : "memory.oom_control");
    ty_auto_file file = fopen(path, "re");
    char line[128];
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        int64_t count;
        if (ty_str_starts(line, "oom_kill ") &&
            ty_str_to_int(line + strlen("oom_kill "), 0, INT64_MAX, &count) == TY_OK)
            return count;
    }
    return 0;
}

void ty_cgroup_done(struct ty_cgroup *group)
{
    for (size_t i = 0; i < TY_CGROUP_TREES; i++) {
        if (group->procs_fds[i] >= 0)
            close(group->procs_fds[i]);
        group->procs_fds[i] = -1;
    }
    if (group->memory[0])
        rmdir(group->memory);
    if (group->cpu[0] && !ty_str_equal(group->cpu, group->memory))
        rmdir(group->cpu);
    group->memory[0] = group->cpu[0] = '\0';
}
