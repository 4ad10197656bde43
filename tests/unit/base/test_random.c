#include "unit.h"

#include "trainyard/base/random.h"

static void the_same_seed_gives_the_same_bytes(void **state)
{
    struct ty_seeded a;
    struct ty_seeded b;
    struct ty_random first = ty_random_seeded(&a, 42);
    struct ty_random second = ty_random_seeded(&b, 42);
    char x[100];
    char y[100];

    (void)state;
    first.fill(first.context, x, sizeof(x));
    second.fill(second.context, y, sizeof(y));
    assert_memory_equal(x, y, sizeof(x));
    second = ty_random_seeded(&b, 43);
    second.fill(second.context, y, sizeof(y));
    assert_memory_not_equal(x, y, sizeof(x));
}

/* The first outputs of xoshiro256** after splitmix64(42), computed by another implementation. */
static void the_seeded_source_is_xoshiro256_star_star(void **state)
{
    static const uint64_t expected[] = {UINT64_C(0x15780b2e0c2ec716), UINT64_C(0x6104d9866d113a7e),
                                        UINT64_C(0xae17533239e499a1)};
    struct ty_seeded words;
    struct ty_random random = ty_random_seeded(&words, 42);

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(expected); i++) {
        uint64_t value;

        random.fill(random.context, &value, sizeof(value));
        assert_true(value == expected[i]);
    }
}

static void values_below_a_bound_are_spread_evenly(void **state)
{
    struct ty_seeded words;
    struct ty_random random = ty_random_seeded(&words, 7);
    int counts[6] = {0};

    (void)state;
    for (int i = 0; i < 60000; i++) {
        uint64_t value = ty_random_below(&random, 6);

        assert_true(value < 6);
        counts[value]++;
    }
    for (int i = 0; i < 6; i++)
        assert_in_range(counts[i], 9500, 10500);
    assert_true(ty_random_below(&random, 1) == 0);
}

static uint64_t scripted[3];
static size_t scripted_at;

static void fill_from_script(void *context, void *bytes, size_t len)
{
    (void)context;
    assert_int_equal(len, sizeof(uint64_t));
    memcpy(bytes, &scripted[scripted_at++], len);
}

static void values_that_would_favour_small_results_are_drawn_again(void **state)
{
    const struct ty_random random = {.fill = fill_from_script};

    (void)state;
    /* 2^64 mod 10 = 6: the values 0 to 5 are the surplus. */
    scripted[0] = 0;
    scripted[1] = 5;
    scripted[2] = 6;
    scripted_at = 0;
    assert_int_equal(ty_random_below(&random, 10), 6);
    assert_int_equal(scripted_at, 3);
}

static void the_kernels_bytes_differ_between_calls(void **state)
{
    const struct ty_random *random = ty_random_system();
    static char a[5000];
    static char b[5000];

    (void)state;
    random->fill(random->context, a, sizeof(a));
    random->fill(random->context, b, sizeof(b));
    assert_memory_not_equal(a, b, sizeof(a));
    assert_memory_not_equal(a + 4900, b + 4900, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_seed_gives_the_same_bytes),
        cmocka_unit_test(the_seeded_source_is_xoshiro256_star_star),
        cmocka_unit_test(values_below_a_bound_are_spread_evenly),
        cmocka_unit_test(values_that_would_favour_small_results_are_drawn_again),
        cmocka_unit_test(the_kernels_bytes_differ_between_calls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
