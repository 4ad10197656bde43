/* The local executor without runs: its options, its claims, the folder of a run. */
#include "temporary.h"
#include "unit.h"

#include "executor/local/inside.h"

#include "trainyard/base/file.h"
#include "trainyard/base/scope.h"

#include <dirent.h>
#include <sys/stat.h>

struct fixture {
    char path[TEMPORARY_PATH];
    int fd;
    struct ty_executor *executor;
};

static struct ty_local_options options_for(const char *folder)
{
    return (struct ty_local_options){.data_folder = folder,
                                     .supervisor_path = "/nonexistent/trainyard-supervisor",
                                     .clock = ty_clock_system(),
                                     .gpus = 2,
                                     .sandbox = TY_LOCAL_PLAIN,
                                     .grace_ms = -1};
}

static int set_up(void **state)
{
    static struct fixture fixture;
    struct ty_error err;
    fixture.fd = temporary_open(fixture.path);
    const struct ty_local_options options = options_for(fixture.path);
    *state = &fixture;
    return fixture.fd < 0 || ty_local_create(&options, &fixture.executor, &err) != TY_OK;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    struct ty_error err;
    fixture->executor->ops->destroy(fixture->executor);
    close(fixture->fd);
    return ty_tree_remove(AT_FDCWD, fixture->path, &err) != TY_OK;
}

static void bad_options_are_refused_and_leave_the_output_alone(void **state)
{
    static const struct ty_local_image relative = {"*", "roots/x"};
    const struct fixture *fixture = *state;
    struct ty_local_options cases[] = {options_for("data"), options_for(fixture->path),
                                       options_for(fixture->path)};
    cases[1].supervisor_path = "trainyard-supervisor";
    cases[2].images = &relative;
    cases[2].image_count = 1;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct ty_executor *executor = fixture->executor;
        struct ty_error err;
        assert_int_equal(ty_local_create(&cases[i], &executor, &err), TY_INVALID);
        assert_ptr_equal(executor, fixture->executor);
    }
}

static void a_claim_is_made_once_measured_and_removed(void **state)
{
    const struct fixture *fixture = *state;
    const struct ty_executor_ops *ops = fixture->executor->ops;
    struct ty_error err;
    int64_t used = -1;
    int fd = -1;
    assert_int_equal(ops->open_claim(fixture->executor, "ns", "data.v1", &fd, &err), TY_NOT_FOUND);
    assert_int_equal(ops->measure_claim(fixture->executor, "ns", "data.v1", &used, &err),
                     TY_NOT_FOUND);
    assert_int_equal(used, -1);
    assert_int_equal(ops->create_claim(fixture->executor, "ns", "data.v1", &err), TY_OK);
    assert_int_equal(ops->create_claim(fixture->executor, "ns", "data.v1", &err), TY_CONFLICT);
    assert_int_equal(ops->create_claim(fixture->executor, "other", "data.v1", &err), TY_OK);
    assert_int_equal(ops->open_claim(fixture->executor, "ns", "data.v1", &fd, &err), TY_OK);
    char block[8192] = {1};
    assert_int_equal(mkdirat(fd, "a", 0755), 0);
    ty_auto_fd file = openat(fd, "a/f", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert_int_equal(write(file, block, sizeof block), sizeof block);
    assert_int_equal(symlinkat("/", fd, "loop"), 0);
    fsync(file);
    assert_int_equal(ops->measure_claim(fixture->executor, "ns", "data.v1", &used, &err), TY_OK);
    assert_true(used >= (int64_t)sizeof block && used < 1 << 20);
    close(fd);
    assert_int_equal(ops->remove_claim(fixture->executor, "ns", "data.v1", &err), TY_OK);
    assert_int_equal(ops->remove_claim(fixture->executor, "ns", "data.v1", &err), TY_NOT_FOUND);
}

static void names_that_climb_are_no_claims(void **state)
{
    static const struct {
        const char *namespace;
        const char *claim;
    } cases[] = {
        {"..",   "runs"},
        {"ns",   ".."  },
        {"ns",   "."   },
        {"ns",   "a/b" },
        {"ns",   ""    },
        {"ns/x", "a"   },
        {"",     "a"   },
        {"ns",   "-a"  }
    };
    const struct fixture *fixture = *state;
    const struct ty_executor_ops *ops = fixture->executor->ops;
    struct ty_error err;
    int fd = -1;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        assert_int_equal(
            ops->open_claim(fixture->executor, cases[i].namespace, cases[i].claim, &fd, &err),
            TY_NOT_FOUND);
        assert_int_equal(
            ops->create_claim(fixture->executor, cases[i].namespace, cases[i].claim, &err),
            TY_INVALID);
        assert_int_equal(
            ops->remove_claim(fixture->executor, cases[i].namespace, cases[i].claim, &err),
            TY_NOT_FOUND);
    }
    assert_int_equal(fd, -1);
}

static void a_link_is_no_claim(void **state)
{
    const struct fixture *fixture = *state;
    struct ty_error err;
    int fd = -1;
    assert_int_equal(fixture->executor->ops->create_claim(fixture->executor, "ns", "real", &err),
                     TY_OK);
    assert_int_equal(symlinkat("/etc", fixture->fd, "volumes/ns/link"), 0);
    assert_int_equal(fixture->executor->ops->open_claim(fixture->executor, "ns", "link", &fd, &err),
                     TY_NOT_FOUND);
    assert_false(ty_local_has_claim((struct local *)fixture->executor, "ns", "link"));
}

static struct ty_made_plan make_files(const char *path, const char *member, const char *content)
{
    struct ty_made_plan made = {json_pack("{s:i}", "attempt", 1), json_object(), json_object()};
    json_object_set_new(made.files, path, json_pack("{s:s, s:i}", member, content, "mode", 0444));
    return made;
}

static size_t count_entries(const struct fixture *fixture)
{
    size_t count = 0;
    int fd = openat(fixture->fd, "runs", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fdopendir(fd);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count - 2;
}

static void a_run_folder_is_made_whole_or_not_at_all(void **state)
{
    const struct fixture *fixture = *state;
    struct local *local = (struct local *)fixture->executor;
    struct ty_error err;
    struct stat info;
    struct ty_made_plan good = make_files("config/0-c/d/f", "base64", "AAEC");
    assert_int_equal(ty_run_folder_write(local, "run", &good, &err), TY_OK);
    assert_int_equal(ty_run_folder_write(local, "run", &good, &err), TY_CONFLICT);
    ty_made_plan_done(&good);
    assert_int_equal(fstatat(fixture->fd, "runs/run/config/0-c/d/f", &info, 0), 0);
    assert_int_equal(info.st_size, 3);
    assert_int_equal(info.st_mode & 0777, 0444);
    static const struct {
        const char *path;
        const char *member;
        const char *content;
    } bad[] = {
        {"a/../../f", "text",   "x"},
        {"..",        "text",   "x"},
        {"a//f",      "text",   "x"},
        {"/etc/f",    "text",   "x"},
        {"a/",        "text",   "x"},
        {"f",         "base64", "*"}
    };
    for (size_t i = 0; i < UNIT_COUNT(bad); i++) {
        struct ty_made_plan made = make_files(bad[i].path, bad[i].member, bad[i].content);
        assert_int_equal(ty_run_folder_write(local, "other", &made, &err), TY_REFUSED);
        ty_made_plan_done(&made);
    }
    assert_int_equal(count_entries(fixture), 1);
    assert_false(ty_run_folder_locked(local, "run"));
}

static void it_says_what_it_can_hold_and_what_is_missing(void **state)
{
    const struct fixture *fixture = *state;
    const struct ty_executor_ops *ops = fixture->executor->ops;
    ty_auto_json object = NULL;
    struct ty_error err;
    assert_int_equal(ops->capacity(fixture->executor).gpus, 2);
    assert_int_equal(ops->describe(fixture->executor, &object, &err), TY_OK);
    assert_string_equal(json_string_value(json_object_get(object, "name")), "local");
    assert_true(json_is_false(json_object_get(object, "ready")));
    const json_t *warnings = json_object_get(object, "warnings");
    const json_t *last = json_array_get(warnings, json_array_size(warnings) - 1);
    assert_string_equal(json_string_value(json_object_get(last, "code")), "supervisor_missing");
}

static void images_take_the_first_pattern_that_matches(void **state)
{
    struct ty_local_image images[] = {
        {"registry.example/*:gpu", "/a"},
        {"pytorch/pytorch:2.?.0",  "/b"},
        {"*",                      "/" }
    };
    struct local local = {.images = images, .image_count = 3};
    (void)state;
    assert_string_equal(ty_local_find_root(&local, "registry.example/team/x:gpu"), "/a");
    assert_string_equal(ty_local_find_root(&local, "pytorch/pytorch:2.1.0"), "/b");
    assert_string_equal(ty_local_find_root(&local, "anything"), "/");
    local.image_count = 2;
    assert_null(ty_local_find_root(&local, "anything"));
    local.image_count = 0;
    assert_string_equal(ty_local_find_root(&local, "anything"), "/");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(bad_options_are_refused_and_leave_the_output_alone),
        TEST(a_claim_is_made_once_measured_and_removed),
        TEST(names_that_climb_are_no_claims),
        TEST(a_link_is_no_claim),
        TEST(a_run_folder_is_made_whole_or_not_at_all),
        TEST(it_says_what_it_can_hold_and_what_is_missing),
        cmocka_unit_test(images_take_the_first_pattern_that_matches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
