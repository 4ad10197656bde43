#include "place.h"

#include "trainyard/logs/files.h"

static void temporary_names_are_told_by_the_rule(void **state)
{
    static const struct {
        const char *path;
        bool temporary;
    } cases[] = {
        {"ckpt-1.pt",           false},
        {"ckpt-2.pt.tmp",       true },
        {"ckpt.part",           true },
        {"ckpt.partial",        true },
        {"ckpt.incomplete",     true },
        {"ckpt~",               true },
        {".ckpt.pt",            true },
        {"step-5.tmp/model.pt", true },
        {".staging/model.pt",   true },
        {"tmp/model.pt",        false},
        {"model.tmp.pt",        false},
        {"part",                false},
        {"a/.b",                true },
    };
    (void)state;
    for (size_t at = 0; at < UNIT_COUNT(cases); at++)
        assert_int_equal(ty_checkpoint_temporary(cases[at].path), cases[at].temporary);
}

/* Each case: files with their times, and which is the latest. */
static void the_latest_is_the_newest_whole_file(void **state)
{
    static const struct {
        const struct {
            const char *name;
            int64_t time;
            const char *content;
        } files[5];
        const char *latest;
    } cases[] = {
  /* case 91: killed while it saved the second */
        {{{"ckpt-1.pt", 100, "x"}, {"ckpt-2.pt.tmp", 200, "x"}, {"last.pt", 300, ""}}, "ckpt-1.pt"  },
        {{{"ckpt-1.pt", 300, "x"}, {"ckpt-2.pt", 200, "x"}},                           "ckpt-1.pt"  },
        {{{"ckpt-9.pt", 100, "x"}, {"ckpt-10.pt", 100, "x"}, {"ckpt-1.pt", 100, "x"}},
         "ckpt-10.pt"                                                                               },
        {{{"ckpt-010.pt", 100, "x"}, {"ckpt-9.pt", 100, "x"}},                         "ckpt-010.pt"},
        {{{"ckpt-18446744073709551617.pt", 1, "x"}, {"ckpt-2.pt", 1, "x"}},
         "ckpt-18446744073709551617.pt"                                                             },
        {{{"b", 100, "x"}, {"a", 100, "x"}},                                           "b"          },
        {{{".hidden", 100, "x"}, {"x~", 100, "x"}},                                    NULL         },
        {{{0}},                                                                        NULL         },
    };
    struct place *place = *state;
    for (size_t at = 0; at < UNIT_COUNT(cases); at++) {
        size_t count = 0;
        ty_auto_checkpoint_list list = {0};
        const struct ty_file_query query = {.folder = "saved", .limit = 2};
        place_folder(place, "saved");
        for (; count < 5 && cases[at].files[count].name; count++) {
            char path[64];
            snprintf(path, sizeof(path), "saved/%s", cases[at].files[count].name);
            place_text(place, path, cases[at].files[count].content);
            place_time(place, path, cases[at].files[count].time);
        }
        assert_int_equal(ty_checkpoints_list(place->fd, &query, &list, NULL), TY_OK);
        assert_int_equal(list.files.count,
                         count < 2 ? count : 2); /* all are listed, page by page */
        assert_int_equal(list.files.more, count > 2);
        if (cases[at].latest) {
            assert_non_null(list.latest);
            assert_string_equal(list.latest + strlen("saved/"), cases[at].latest);
            assert_true(list.latest_stat.size > 0);
        } else {
            assert_null(list.latest);
        }
        assert_int_equal(ty_tree_remove(place->fd, "saved", NULL), TY_OK);
    }
}

static void a_missing_folder_is_an_empty_list(void **state)
{
    struct place *place = *state;
    struct ty_checkpoint_list list = {.files.count = 77};
    struct ty_file_list surplus = {.count = 77};
    const struct ty_file_query query = {.folder = "nope", .limit = 2};
    assert_int_equal(ty_checkpoints_list(place->fd, &query, &list, NULL), TY_OK);
    assert_int_equal(list.files.count, 0);
    assert_null(list.latest);
    assert_int_equal(ty_checkpoints_surplus(place->fd, "nope", 3, INT64_MAX, &surplus, NULL),
                     TY_OK);
    assert_int_equal(surplus.count, 0);
    ty_file_list_done(&surplus);
    const struct ty_file_query bad = {.folder = "../x", .limit = 2};
    list.files.count = 77;
    surplus.count = 77;
    assert_int_equal(ty_checkpoints_list(place->fd, &bad, &list, NULL), TY_INVALID);
    assert_int_equal(ty_checkpoints_surplus(place->fd, "../x", 3, INT64_MAX, &surplus, NULL),
                     TY_INVALID);
    assert_int_equal(list.files.count, 77);
    assert_int_equal(surplus.count, 77);
}

static void the_folders_own_name_makes_nothing_temporary(void **state)
{
    struct place *place = *state;
    place_folder(place, "run.tmp");
    place_text(place, "run.tmp/a.pt", "x");
    ty_auto_checkpoint_list list = {0};
    const struct ty_file_query query = {.folder = "run.tmp", .limit = 2};
    assert_int_equal(ty_checkpoints_list(place->fd, &query, &list, NULL), TY_OK);
    assert_string_equal(list.latest, "run.tmp/a.pt");
}

static void make_series(const struct place *place)
{
    static const struct {
        const char *name;
        int64_t time;
    } files[] = {
        {"ckpt-1.pt",           100},
        {"ckpt-2.pt",           200},
        {"ckpt-3.pt",           300},
        {"optim-1.pt",          100},
        {"optim-2.pt",          200},
        {"best.pt",             1  },
        {"last.pt",             1  },
        {"ckpt-4.pt.tmp",       50 },
        {"step-1/model-1.bin",  100},
        {"step-1/model-2.bin",  110},
        {"step-20/model-1.bin", 90 },
        {"step-3/model-1.bin",  300},
    };
    place_folder(place, "step-1");
    place_folder(place, "step-20");
    place_folder(place, "step-3");
    place_folder(place, "step-4"); /* nothing in it yet */
    for (size_t at = 0; at < UNIT_COUNT(files); at++) {
        place_text(place, files[at].name, "x");
        place_time(place, files[at].name, files[at].time);
    }
    place_text(place, "ckpt-0.pt", ""); /* empty */
    place_time(place, "ckpt-0.pt", 10);
}

static void surplus_is_what_is_old_in_its_series(void **state)
{
    static const struct {
        size_t keep_last;
        const char *paths[6];
    } cases[] = {
        {0, {0}                                                          },
        {1, {"step-20", "ckpt-1.pt", "optim-1.pt", "step-1", "ckpt-2.pt"}},
        {2, {"step-20", "ckpt-1.pt"}                                     },
        {3, {0}                                                          },
    };
    struct place *place = *state;
    make_series(place);
    for (size_t at = 0; at < UNIT_COUNT(cases); at++) {
        ty_auto_file_list list = {0};
        assert_int_equal(
            ty_checkpoints_surplus(place->fd, NULL, cases[at].keep_last, INT64_MAX, &list, NULL),
            TY_OK);
        assert_false(list.partial);
        size_t count = 0;
        for (; cases[at].paths[count]; count++)
            assert_string_equal(list.items[count].path, cases[at].paths[count]);
        assert_int_equal(list.count, count);
    }
}

static void nothing_is_surplus_when_not_all_was_seen(void **state)
{
    struct place *place = *state;
    char path[1024] = "d";
    make_series(place);
    for (int depth = 0; depth < TY_FILE_DEPTH_MAX + 2; depth++) {
        place_folder(place, path);
        memcpy(path + strlen(path), "/d", 3);
    }
    ty_auto_file_list list = {0};
    assert_int_equal(ty_checkpoints_surplus(place->fd, NULL, 1, INT64_MAX, &list, NULL), TY_OK);
    assert_true(list.partial);
    assert_int_equal(list.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(temporary_names_are_told_by_the_rule),
        PLACE_TEST(the_latest_is_the_newest_whole_file),
        PLACE_TEST(a_missing_folder_is_an_empty_list),
        PLACE_TEST(the_folders_own_name_makes_nothing_temporary),
        PLACE_TEST(surplus_is_what_is_old_in_its_series),
        PLACE_TEST(nothing_is_surplus_when_not_all_was_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
