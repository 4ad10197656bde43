#include "unit.h"

#include "file_path.h"

static void links_of_artifacts_give_paths_byte_for_byte(void **state)
{
    static const struct {
        const char *link;
        const char *path;
    } cases[] = {
        {"/v1/jobs/job_x/artifacts/model.pth",      "model.pth"  },
        {"/v1/jobs/job_x/artifacts/a%20b/c%25.txt", "a b/c%.txt" },
        {"/v1/jobs/job_x/artifacts/%ff%FE",         "\xff\xfe"   },
        {"/v1/jobs/job_x/artifacts/artifacts/x",    "artifacts/x"},
        {"/v1/jobs/job_x/artifacts/..a/...",        "..a/..."    },
        {"/v1/jobs/job_x/artifacts/.hidden",        ".hidden"    },
    };
    char path[64];
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        assert_true(cli_path_of_link(cases[i].link, path, sizeof path));
        assert_string_equal(path, cases[i].path);
    }
}

static void paths_that_would_leave_the_folder_are_refused(void **state)
{
    static const char *const links[] = {
        "",
        "/",
        "/v1/jobs/x/artifacts/",
        "/v1/jobs/x/artifacts//etc/passwd",
        "/v1/jobs/x/artifacts/%2Fetc/passwd",
        "/v1/jobs/x/artifacts/..",
        "/v1/jobs/x/artifacts/../x",
        "/v1/jobs/x/artifacts/a/../../x",
        "/v1/jobs/x/artifacts/a/%2e%2e/x",
        "/v1/jobs/x/artifacts/a%2f..%2fx",
        "/v1/jobs/x/artifacts/./x",
        "/v1/jobs/x/artifacts/a//b",
        "/v1/jobs/x/artifacts/a/",
        "/v1/jobs/x/artifacts/a%00b",
        "/v1/jobs/x/artifacts/a%4",
        "/v1/jobs/x/artifacts/a%",
        "/v1/jobs/x/artifacts/a%zz",
        "/v1/volumes/x/artifacts/a",
        "http://other/v1/jobs/x/artifacts/a",
    };
    char path[64];
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(links); i++)
        assert_false(cli_path_of_link(links[i], path, sizeof path));
}

static void a_path_that_does_not_fit_is_refused(void **state)
{
    char path[4];
    (void)state;
    assert_true(cli_path_of_link("/v1/jobs/x/artifacts/abc", path, sizeof path));
    assert_false(cli_path_of_link("/v1/jobs/x/artifacts/abcd", path, sizeof path));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(links_of_artifacts_give_paths_byte_for_byte),
        cmocka_unit_test(paths_that_would_leave_the_folder_are_refused),
        cmocka_unit_test(a_path_that_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
