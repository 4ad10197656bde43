#include "place.h"

#include "trainyard/logs/files.h"

#include <stdatomic.h>

#define NS(seconds) (INT64_C(1000000000) * (seconds))

static bool there(const struct place *place, const char *name)
{
    return faccessat(place->fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void save(const struct place *place, const char *name, int64_t time)
{
    place_text(place, name, "x");
    place_time(place, name, time);
}

static void save_folder(const struct place *place, const char *folder, int64_t time)
{
    char name[256];

    place_folder(place, folder);
    (void)snprintf(name, sizeof name, "%s/model.pt", folder);
    save(place, name, time);
    place_time(place, folder, time);
}

static size_t prune(const struct place *place, const char *folder, size_t keep_last,
                    int64_t before_ns)
{
    size_t removed = 999;

    assert_int_equal(
        ty_checkpoints_prune(place->fd, folder, keep_last, before_ns, NULL, &removed, NULL), TY_OK);
    return removed;
}

static void the_newest_stay_and_the_older_ones_go(void **state)
{
    struct place *place = *state;

    place_folder(place, "run");
    for (int i = 8; i <= 11; i++) {
        char name[64];

        (void)snprintf(name, sizeof name, "run/ckpt-%d.pt", i);
        save(place, name, 100 + i);
        (void)snprintf(name, sizeof name, "run/step-%d", i);
        save_folder(place, name, 100 + i);
    }
    save(place, "run/best.pt", 1);
    save(place, "ckpt-1.pt", 1); /* beside the folder, not in it */
    assert_int_equal(prune(place, "run", 2, INT64_MAX), 4);
    assert_false(there(place, "run/ckpt-8.pt") || there(place, "run/ckpt-9.pt"));
    assert_false(there(place, "run/step-8") || there(place, "run/step-9"));
    assert_true(there(place, "run/ckpt-10.pt") && there(place, "run/ckpt-11.pt"));
    assert_true(there(place, "run/step-10/model.pt") && there(place, "run/step-11/model.pt"));
    assert_true(there(place, "run/best.pt") && there(place, "ckpt-1.pt"));
    assert_int_equal(prune(place, "run", 2, INT64_MAX), 0);
}

static void what_may_be_unfinished_neither_goes_nor_stands_for_another(void **state)
{
    struct place *place = *state;

    save(place, "ckpt-1.pt", 100);
    save(place, "ckpt-2.pt", 200);
    save(place, "ckpt-3.pt", 300); /* half of it, perhaps */
    save_folder(place, "step-1", 100);
    save_folder(place, "step-2", 200);
    save(place, "step-2/optimizer.pt.tmp", 300); /* still being written */
    assert_int_equal(prune(place, "", 1, NS(250)), 1);
    assert_false(there(place, "ckpt-1.pt"));
    assert_true(there(place, "ckpt-2.pt") && there(place, "ckpt-3.pt"));
    assert_true(there(place, "step-1/model.pt") && there(place, "step-2/model.pt"));
    assert_int_equal(prune(place, "", 1, INT64_MAX), 2);
    assert_true(there(place, "ckpt-3.pt") && there(place, "step-2/model.pt"));
}

static void a_link_leads_nowhere(void **state)
{
    struct place *place = *state;

    place_folder(place, "outside");
    save(place, "outside/ckpt-1.pt", 1);
    save(place, "outside/ckpt-2.pt", 2);
    place_folder(place, "run");
    assert_int_equal(symlinkat("../outside", place->fd, "run/step-1"), 0);
    assert_int_equal(symlinkat("outside", place->fd, "alias"), 0);
    save_folder(place, "run/step-2", 50);
    save_folder(place, "run/step-3", 60);
    assert_int_equal(symlinkat("../../outside", place->fd, "run/step-2/inner"), 0);
    assert_int_equal(prune(place, "run", 1, INT64_MAX), 1);
    assert_int_equal(prune(place, "alias", 1, INT64_MAX), 0);
    assert_int_equal(prune(place, "../x", 1, INT64_MAX), 0);
    assert_int_equal(prune(place, "nothing", 1, INT64_MAX), 0);
    assert_false(there(place, "run/step-2"));
    assert_true(there(place, "outside/ckpt-1.pt") && there(place, "outside/ckpt-2.pt"));
}

static void what_a_crash_left_half_removed_goes_and_is_no_checkpoint(void **state)
{
    struct place *place = *state;
    ty_auto_checkpoint_list list = {0};

    place_folder(place, ".trainyard-removed");
    save(place, ".trainyard-removed/model-2.pt", 900);
    save_folder(place, "step-1", 100);
    assert_int_equal(
        ty_checkpoints_list(place->fd, &(struct ty_file_query){.limit = 10}, &list, NULL), TY_OK);
    assert_string_equal(list.latest, "step-1/model.pt");
    assert_int_equal(prune(place, NULL, 1, INT64_MAX), 0);
    assert_false(there(place, ".trainyard-removed"));
    assert_true(there(place, "step-1/model.pt"));
}

static void it_breaks_off_when_told_to(void **state)
{
    struct place *place = *state;
    const atomic_bool stop = true;
    size_t removed = 999;

    save(place, "ckpt-1.pt", 1);
    save(place, "ckpt-2.pt", 2);
    assert_int_equal(ty_checkpoints_prune(place->fd, "", 1, INT64_MAX, &stop, &removed, NULL),
                     TY_OK);
    assert_int_equal(removed, 0);
    assert_true(there(place, "ckpt-1.pt"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLACE_TEST(the_newest_stay_and_the_older_ones_go),
        PLACE_TEST(what_may_be_unfinished_neither_goes_nor_stands_for_another),
        PLACE_TEST(a_link_leads_nowhere),
        PLACE_TEST(what_a_crash_left_half_removed_goes_and_is_no_checkpoint),
        PLACE_TEST(it_breaks_off_when_told_to),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
