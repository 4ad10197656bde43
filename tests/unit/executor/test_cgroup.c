/* A folder stands for the mounted control groups: the code only makes folders and writes files.
 * Files that the kernel would make are laid down before by making the group's folder first. */
#include "temporary.h"
#include "unit.h"

#include "executor/supervisor/cgroup.h"

#include "trainyard/base/buf.h"
#include "trainyard/base/file.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

struct fake {
    char path[TEMPORARY_PATH];
    int fd;
};

static void make(const struct fake *fake, const char *path)
{
    char full[512];
    struct ty_error err;
    snprintf(full, sizeof full, "%s/%s", fake->path, path);
    assert_int_equal(ty_folder_make(full, &err), TY_OK);
}

static void lay(const struct fake *fake, const char *path, const char *text)
{
    char full[512];
    snprintf(full, sizeof full, "%s/%s", fake->path, path);
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void expect(const struct fake *fake, const char *path, const char *text)
{
    struct ty_error err;
    ty_auto_buf bytes = {0};
    ty_buf_init(&bytes, 1000);
    assert_int_equal(ty_file_read(fake->fd, path, &bytes, &err), TY_OK);
    assert_string_equal(bytes.data ? bytes.data : "", text);
}

static int set_up(void **state)
{
    static struct fake fake;
    fake.fd = temporary_open(fake.path);
    *state = &fake;
    return fake.fd < 0;
}

static int tear_down(void **state)
{
    const struct fake *fake = *state;
    struct ty_error err;
    close(fake->fd);
    return ty_tree_remove(AT_FDCWD, fake->path, &err) != TY_OK;
}

static const struct ty_cgroup_limits both = {.memory_bytes = 64 << 20, .cpu_millis = 1500};

static void version_1_sets_each_tree_below_our_own_group(void **state)
{
    const struct fake *fake = *state;
    char mounts[1024];
    struct ty_cgroup group;
    make(fake, "memory/box/trainyard-r");
    make(fake, "cpu/trainyard-r");
    static const char *const files[] = {"memory/box/trainyard-r/cgroup.procs",
                                        "memory/box/trainyard-r/memory.limit_in_bytes",
                                        "memory/box/trainyard-r/memory.memsw.limit_in_bytes",
                                        "cpu/trainyard-r/cgroup.procs",
                                        "cpu/trainyard-r/cpu.cfs_period_us",
                                        "cpu/trainyard-r/cpu.cfs_quota_us"};
    for (size_t i = 0; i < UNIT_COUNT(files); i++)
        lay(fake, files[i], "");
    lay(fake, "memory/box/trainyard-r/memory.oom_control",
        "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
    snprintf(mounts, sizeof mounts,
             "30 1 0:26 / %s/memory rw,relatime - cgroup cgroup rw,memory\n"
             "31 1 0:27 / %s/cpu rw shared:1 - cgroup cgroup rw,cpu,cpuacct\n",
             fake->path, fake->path);
    const struct ty_cgroup_host host = {mounts, "4:memory:/box\n1:cpu,cpuacct:/\n0::/\n"};
    ty_cgroup_make(&host, "r", &both, &group);
    assert_true(group.memory[0] && group.cpu[0] && !group.unified);
    assert_true(group.procs_fds[0] >= 0 && group.procs_fds[1] >= 0);
    expect(fake, "memory/box/trainyard-r/memory.limit_in_bytes", "67108864");
    expect(fake, "memory/box/trainyard-r/memory.memsw.limit_in_bytes", "67108864");
    expect(fake, "cpu/trainyard-r/cpu.cfs_period_us", "100000");
    expect(fake, "cpu/trainyard-r/cpu.cfs_quota_us", "150000");
    assert_int_equal(ty_cgroup_oom_kills(&group), 3);
    ty_cgroup_done(&group);
    assert_string_equal(group.memory, "");
}

static void version_2_sets_one_group_beside_our_own(void **state)
{
    const struct fake *fake = *state;
    char mounts[1024];
    struct ty_cgroup group;
    make(fake, "u/system.slice/trainyard-r");
    static const char *const files[] = {"cgroup.procs", "memory.max", "memory.swap.max", "cpu.max"};
    for (size_t i = 0; i < UNIT_COUNT(files); i++) {
        char path[128];
        snprintf(path, sizeof path, "u/system.slice/trainyard-r/%s", files[i]);
        lay(fake, path, "");
    }
    lay(fake, "u/system.slice/trainyard-r/memory.events",
        "low 0\noom 2\noom_kill 1\noom_group_kill 0\n");
    snprintf(mounts, sizeof mounts, "30 1 0:26 / %s/u rw - cgroup2 cgroup2 rw,nsdelegate\n",
             fake->path);
    const struct ty_cgroup_host host = {mounts, "0::/system.slice/our.service\n"};
    ty_cgroup_make(&host, "r", &both, &group);
    assert_true(group.unified);
    assert_string_equal(group.memory, group.cpu);
    expect(fake, "u/system.slice/trainyard-r/memory.max", "67108864");
    expect(fake, "u/system.slice/trainyard-r/memory.swap.max", "0");
    expect(fake, "u/system.slice/trainyard-r/cpu.max", "150000 100000");
    assert_int_equal(ty_cgroup_oom_kills(&group), 1);
    ty_cgroup_done(&group);
}

static void what_cannot_be_set_is_not_in_force(void **state)
{
    const struct fake *fake = *state;
    char mounts[1024];
    struct ty_cgroup group;
    static const struct ty_cgroup_limits none = {0};
    make(fake, "u/a");
    snprintf(mounts, sizeof mounts, "30 1 0:26 / %s/u rw - cgroup2 cgroup2 rw\n", fake->path);
    /* The first: folders can be made, but the controllers' files are not there. */
    const struct ty_cgroup_host hosts[] = {
        {mounts,             "0::/a\n"            },
        {"",                 ""                   },
        {"garbage - cgroup", "no colons here\n:\n"},
    };
    for (size_t i = 0; i < UNIT_COUNT(hosts); i++) {
        ty_cgroup_make(&hosts[i], "r", &both, &group);
        assert_string_equal(group.memory, "");
        assert_string_equal(group.cpu, "");
        assert_int_equal(group.procs_fds[0], -1);
        assert_int_equal(ty_cgroup_oom_kills(&group), 0);
        ty_cgroup_done(&group);
    }
    ty_cgroup_make(&hosts[0], "r", &none, &group);
    assert_int_equal(group.procs_fds[0], -1);
    char path[512];
    snprintf(path, sizeof path, "%s/u/trainyard-r", fake->path);
    assert_int_not_equal(access(path, F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(version_1_sets_each_tree_below_our_own_group, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(version_2_sets_one_group_beside_our_own, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_cannot_be_set_is_not_in_force, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
