#include "unit.h"

#include "place.h"
#include "trainyard/base/file.h"
#include "trainyard/base/scope.h"

#include <stdio.h>
#include <sys/stat.h>

static bool exists(int fd, const char *name)
{
    return faccessat(fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void a_path_of_folders_is_made_and_may_exist_before(void **state)
{
    const struct place *place = *state;
    char path[TEMPORARY_PATH + 32];
    struct stat info;

    snprintf(path, sizeof(path), "%s/a//b/c/", place->path);
    assert_int_equal(ty_folder_make(path, NULL), TY_OK);
    assert_int_equal(ty_folder_make(path, NULL), TY_OK);
    assert_int_equal(fstatat(place->fd, "a/b/c", &info, 0), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
    assert_int_equal(ty_file_write(place->fd, "file", "", 0, 0600, NULL), TY_OK);
    snprintf(path, sizeof(path), "%s/file/x", place->path);
    assert_int_equal(ty_folder_make(path, NULL), TY_INTERNAL);
}

static void a_folder_is_opened_and_made_only_when_asked(void **state)
{
    const struct place *place = *state;
    int fd = -77;

    assert_int_equal(ty_folder_open(place->fd, "a", false, &fd, NULL), TY_NOT_FOUND);
    assert_int_equal(fd, -77);
    assert_int_equal(ty_folder_open(place->fd, "a", true, &fd, NULL), TY_OK);
    close(fd);
    assert_int_equal(ty_folder_open(place->fd, "a", true, &fd, NULL), TY_OK);
    close(fd);
    assert_int_equal(ty_folder_open(place->fd, "a", false, &fd, NULL), TY_OK);
    close(fd);
}

static void a_link_in_the_place_of_a_folder_is_refused(void **state)
{
    const struct place *place = *state;
    int fd = -77;

    assert_int_equal(symlinkat("/tmp", place->fd, "link"), 0);
    assert_int_equal(ty_folder_open(place->fd, "link", true, &fd, NULL), TY_INTERNAL);
    assert_int_equal(fd, -77);
}

static void a_tree_goes_with_all_that_is_in_it(void **state)
{
    const struct place *place = *state;

    assert_int_equal(ty_folder_make(place->path, NULL), TY_OK);
    assert_int_equal(mkdirat(place->fd, "t", 0700), 0);
    assert_int_equal(mkdirat(place->fd, "t/a", 0700), 0);
    assert_int_equal(mkdirat(place->fd, "t/b", 0700), 0);
    assert_int_equal(mkfifoat(place->fd, "t/a/pipe", 0600), 0);
    for (int i = 0; i < 300; i++) {
        char name[32];

        snprintf(name, sizeof(name), "t/b/%d", i);
        assert_int_equal(
            ty_write_all(openat(place->fd, name, O_CREAT | O_RDONLY, 0600), "", 0, NULL), TY_OK);
    }
    assert_int_equal(ty_tree_remove(place->fd, "t", NULL), TY_OK);
    assert_false(exists(place->fd, "t"));
}

static void a_missing_tree_and_a_single_file_are_removed(void **state)
{
    const struct place *place = *state;

    assert_int_equal(ty_tree_remove(place->fd, "none", NULL), TY_OK);
    assert_int_equal(ty_file_write(place->fd, "file", "", 0, 0600, NULL), TY_OK);
    assert_int_equal(ty_tree_remove(place->fd, "file", NULL), TY_OK);
    assert_false(exists(place->fd, "file"));
}

static void links_are_removed_and_never_followed(void **state)
{
    const struct place *place = *state;

    assert_int_equal(mkdirat(place->fd, "keep", 0700), 0);
    assert_int_equal(ty_file_write(place->fd, "keep/file", "", 0, 0600, NULL), TY_OK);
    assert_int_equal(mkdirat(place->fd, "t", 0700), 0);
    assert_int_equal(symlinkat("../keep", place->fd, "t/link"), 0);
    assert_int_equal(symlinkat("keep", place->fd, "top"), 0);
    assert_int_equal(ty_tree_remove(place->fd, "t", NULL), TY_OK);
    assert_int_equal(ty_tree_remove(place->fd, "top", NULL), TY_OK);
    assert_false(exists(place->fd, "t"));
    assert_false(exists(place->fd, "top"));
    assert_true(exists(place->fd, "keep/file"));
}

static void folders_without_rights_are_removed(void **state)
{
    const struct place *place = *state;

    assert_int_equal(mkdirat(place->fd, "t", 0700), 0);
    assert_int_equal(mkdirat(place->fd, "t/locked", 0700), 0);
    assert_int_equal(ty_file_write(place->fd, "t/locked/file", "", 0, 0600, NULL), TY_OK);
    assert_int_equal(fchmodat(place->fd, "t/locked", 0, 0), 0);
    assert_int_equal(fchmodat(place->fd, "t", 0500, 0), 0);
    assert_int_equal(ty_tree_remove(place->fd, "t", NULL), TY_OK);
    assert_false(exists(place->fd, "t"));
}

/* Two branches, each far deeper than the removal recurses and than a path may be long. */
static void folders_nested_without_end_are_removed(void **state)
{
    const struct place *place = *state;

    assert_int_equal(mkdirat(place->fd, "t", 0700), 0);
    for (int branch = 0; branch < 2; branch++) {
        int at = openat(place->fd, "t", O_RDONLY | O_DIRECTORY);

        for (int i = 0; i < 3000; i++) {
            int next;

            assert_int_equal(mkdirat(at, branch ? "b" : "a", 0700), 0);
            assert_int_equal(ty_write_all(at, "", 0, NULL), TY_OK);
            next = openat(at, branch ? "b" : "a", O_RDONLY | O_DIRECTORY);
            assert_true(next >= 0);
            close(at);
            at = next;
        }
        close(at);
    }
    assert_int_equal(ty_tree_remove(place->fd, "t", NULL), TY_OK);
    assert_false(exists(place->fd, "t"));
}

int main(void)
{
#define PLACE_TEST(test) cmocka_unit_test_setup_teardown(test, place_make, place_remove)
    const struct CMUnitTest tests[] = {
        PLACE_TEST(a_path_of_folders_is_made_and_may_exist_before),
        PLACE_TEST(a_folder_is_opened_and_made_only_when_asked),
        PLACE_TEST(a_link_in_the_place_of_a_folder_is_refused),
        PLACE_TEST(a_tree_goes_with_all_that_is_in_it),
        PLACE_TEST(a_missing_tree_and_a_single_file_are_removed),
        PLACE_TEST(links_are_removed_and_never_followed),
        PLACE_TEST(folders_without_rights_are_removed),
        PLACE_TEST(folders_nested_without_end_are_removed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
