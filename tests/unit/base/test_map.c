#include "unit.h"

#include "trainyard/base/map.h"
#include "trainyard/base/random.h"

#include <stdio.h>
#include <stdlib.h>

static int values[1000];
static int released[1000];

static void note_release(void *value)
{
    released[(int *)value - values]++;
}

static struct ty_map *make_map(void)
{
    struct ty_map *map = NULL;

    memset(released, 0, sizeof(released));
    assert_int_equal(ty_map_create(note_release, &map), TY_OK);
    return map;
}

static void what_was_put_is_found_under_its_key(void **state)
{
    struct ty_map *map = make_map();

    (void)state;
    assert_null(ty_map_get(map, "a"));
    assert_int_equal(ty_map_put(map, "a", &values[1]), TY_OK);
    assert_int_equal(ty_map_put(map, "", &values[2]), TY_OK);
    assert_ptr_equal(ty_map_get(map, "a"), &values[1]);
    assert_ptr_equal(ty_map_get(map, ""), &values[2]);
    assert_null(ty_map_get(map, "b"));
    assert_int_equal(ty_map_count(map), 2);
    ty_map_destroy(map);
    assert_int_equal(released[1], 1);
    assert_int_equal(released[2], 1);
    ty_map_destroy(NULL);
}

static void a_replaced_value_is_released_once(void **state)
{
    struct ty_map *map = make_map();

    (void)state;
    assert_int_equal(ty_map_put(map, "a", &values[1]), TY_OK);
    assert_int_equal(ty_map_put(map, "a", &values[2]), TY_OK);
    assert_int_equal(released[1], 1);
    assert_int_equal(ty_map_put(map, "a", &values[2]), TY_OK);
    assert_int_equal(released[2], 0);
    assert_int_equal(ty_map_count(map), 1);
    ty_map_destroy(map);
    assert_int_equal(released[2], 1);
}

static void taking_removes_without_release_and_removing_releases(void **state)
{
    struct ty_map *map = make_map();

    (void)state;
    assert_null(ty_map_take(map, "a"));
    assert_int_equal(ty_map_put(map, "a", &values[1]), TY_OK);
    assert_int_equal(ty_map_put(map, "b", &values[2]), TY_OK);
    assert_null(ty_map_take(map, "c"));
    assert_ptr_equal(ty_map_take(map, "a"), &values[1]);
    assert_null(ty_map_get(map, "a"));
    assert_int_equal(released[1], 0);
    ty_map_remove(map, "b");
    ty_map_remove(map, "b");
    assert_int_equal(released[2], 1);
    assert_int_equal(ty_map_count(map), 0);
    ty_map_destroy(map);
}

static void a_null_value_is_refused(void **state)
{
    struct ty_map *map = make_map();

    (void)state;
    assert_int_equal(ty_map_put(map, "a", NULL), TY_INVALID);
    assert_int_equal(ty_map_count(map), 0);
    ty_map_destroy(map);
}

static void the_key_is_a_copy(void **state)
{
    struct ty_map *map = make_map();
    char key[] = "key";

    (void)state;
    assert_int_equal(ty_map_put(map, key, &values[1]), TY_OK);
    key[0] = 'x';
    assert_null(ty_map_get(map, key));
    assert_ptr_equal(ty_map_get(map, "key"), &values[1]);
    ty_map_destroy(map);
}

static void every_pair_is_visited_once(void **state)
{
    struct ty_map *map = make_map();
    bool seen[1000] = {false};
    size_t cursor = 0;
    size_t visits = 0;
    const char *key;
    const int *value;

    (void)state;
    assert_null(ty_map_next(map, &cursor, NULL));
    for (int i = 0; i < 1000; i++) {
        char name[16];

        snprintf(name, sizeof(name), "k%d", i);
        assert_int_equal(ty_map_put(map, name, &values[i]), TY_OK);
    }
    cursor = 0;
    while ((value = ty_map_next(map, &cursor, &key)) != NULL) {
        long index = strtol(key + 1, NULL, 10);

        assert_ptr_equal(value, &values[index]);
        assert_false(seen[index]);
        seen[index] = true;
        visits++;
    }
    assert_int_equal(visits, 1000);
    ty_map_destroy(map);
}

/* Compared with an array after each of many random steps: growth, collisions and the closing of
 * gaps. */
static void random_steps_agree_with_a_plain_array(void **state)
{
    struct ty_seeded words;
    struct ty_random random = ty_random_seeded(&words, 1);
    struct ty_map *map = make_map();
    bool present[1000] = {false};
    size_t count = 0;

    (void)state;
    for (int i = 0; i < 200000; i++) {
        /* Fewer keys from time to time, so that the map also empties. */
        uint64_t key = ty_random_below(&random, i / 20000 % 2 ? 20 : 1000);
        char name[16];

        snprintf(name, sizeof(name), "%d", (int)key);
        assert_int_equal(ty_map_get(map, name) != NULL, present[key]);
        if (ty_random_below(&random, 2)) {
            assert_int_equal(ty_map_put(map, name, &values[key]), TY_OK);
            count += !present[key];
            present[key] = true;
        } else {
            assert_int_equal(ty_map_take(map, name) != NULL, present[key]);
            count -= present[key];
            present[key] = false;
        }
        assert_int_equal(ty_map_count(map), count);
    }
    ty_map_destroy(map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_put_is_found_under_its_key),
        cmocka_unit_test(a_replaced_value_is_released_once),
        cmocka_unit_test(taking_removes_without_release_and_removing_releases),
        cmocka_unit_test(a_null_value_is_refused),
        cmocka_unit_test(the_key_is_a_copy),
        cmocka_unit_test(every_pair_is_visited_once),
        cmocka_unit_test(random_steps_agree_with_a_plain_array),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
