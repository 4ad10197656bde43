#include "engine/admit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { NO_LIMIT = -1, MAX_JOBS = 8, MAX_TENANTS = 3 };

static const struct ty_quota open_quota = {NO_LIMIT, NO_LIMIT, NO_LIMIT, NO_LIMIT};

/* What is expected: one letter a job in the order of consideration, as "name verdict". */
struct expected {
    const char *order;    /* names by position */
    const char *verdicts; /* n now, q quota, c capacity, Q above quota, C above capacity */
};

struct wish {
    char name;
    size_t tenant;
    int32_t priority;
    int32_t replicas;
    int32_t gpus;
}; /* the place in the table is the age */

struct admit_case {
    const char *title;
    struct ty_capacity capacity;
    struct admit_use use;
    struct admit_tenant tenants[MAX_TENANTS];
    struct wish wishes[MAX_JOBS];
    struct expected expected;
};

#define CAPACITY(r, g)                                                                             \
    {                                                                                              \
        .replicas = (r), .gpus = (g), .cpu_millis = -1, .memory_bytes = -1                         \
    }
#define FREE_QUOTA                                                                                 \
    {                                                                                              \
        .quota = { -1, -1, -1, -1 }                                                                \
    }
#define QUOTA(j, r, g)                                                                             \
    {                                                                                              \
        .quota = {.max_jobs = (j), .max_queued = -1, .max_replicas = (r), .max_gpus = (g) }        \
    }

static const struct admit_case cases[] = {
    {"everything fits: by age",
     CAPACITY(10,       0),
     {0},
     {FREE_QUOTA},
     {{'a', 0, 0, 1, 0}, {'b', 0, 0, 2, 0}, {'c', 0, 0, 3, 0}},
     {"abc", "nnn"}    },
    {"higher priority comes first",
     CAPACITY(1,        0),
     {0},
     {FREE_QUOTA},
     {{'a', 0, 0, 1, 0}, {'b', 0, -5, 1, 0}, {'c', 0, 9, 1, 0}},
     {"cab", "ncc"}    },
    {"priority counts before fairness",
     CAPACITY(2,        0),
     {0},
     {FREE_QUOTA, FREE_QUOTA},
     {{'a', 0, 1, 1, 0}, {'b', 0, 1, 1, 0}, {'c', 1, 0, 1, 0}},
     {"abc", "nnc"}    },
    {"tenants take turns though one came with all its jobs first",
     CAPACITY(4,        0),
     {0},
     {FREE_QUOTA, FREE_QUOTA},
     {{'a', 0, 0, 1, 0},
      {'b', 0, 0, 1, 0},
      {'c', 0, 0, 1, 0},
      {'d', 1, 0, 1, 0},
      {'e', 1, 0, 1, 0}},
     {"adbec", "nnnnc"}},
    {"who has less of the machine goes first",
     CAPACITY(10,       0),
     {2, 6, 0},
     {{.quota = {-1, -1, -1, -1}, .use = {1, 4, 0}}, {.quota = {-1, -1, -1, -1}, .use = {1, 2, 0}}},
     {{'a', 0, 0, 1, 0}, {'b', 1, 0, 1, 0}, {'c', 1, 0, 1, 0}, {'d', 1, 0, 1, 0}},
     {"bcad", "nnnn"}  },
    {"a share of GPUs weighs as much as the same share of replicas",
     CAPACITY(100,      4),
     {2, 12, 2},
     {{.quota = {-1, -1, -1, -1}, .use = {1, 2, 2}},
      {.quota = {-1, -1, -1, -1}, .use = {1, 10, 0}}},
     {{'a', 0, 0, 1, 0}, {'b', 1, 0, 1, 0}},
     {"ba", "nn"}      },
    {"a gang starts as a whole or not at all",
     CAPACITY(4,        0),
     {1, 2, 0},
     {{.quota = {-1, -1, -1, -1}, .use = {1, 2, 0}}},
     {{'a', 0, 0, 3, 0}},
     {"a", "c"}        },
    {"a blocked head keeps what it waits for: small ones do not overtake it for ever",
     CAPACITY(4,        0),
     {1, 2, 0},
     {{.quota = {-1, -1, -1, -1}, .use = {1, 2, 0}}},
     {{'a', 0, 0, 3, 0}, {'b', 0, 0, 1, 0}, {'c', 0, 0, 1, 0}},
     {"abc", "ccc"}    },
    {"a job that waits for GPUs leaves the processors to others",
     CAPACITY(8,        2),
     {1, 1, 2},
     {{.quota = {-1, -1, -1, -1}, .use = {1, 1, 2}}},
     {{'a', 0, 0, 2, 2}, {'b', 0, 0, 5, 0}, {'c', 0, 0, 1, 0}},
     {"abc", "cnc"}    },
    {"a job larger than the machine keeps nothing from others",
     CAPACITY(4,        0),
     {0},
     {FREE_QUOTA},
     {{'a', 0, 0, 5, 0}, {'b', 0, 0, 4, 0}, {'c', 0, 0, 1, 1}},
     {"abc", "CnC"}    },
    {"a job larger than the quota keeps nothing from others",
     CAPACITY(100,      8),
     {0},
     {QUOTA(-1, 4, 1)},
     {{'a', 0, 0, 5, 0}, {'b', 0, 0, 1, 2}, {'c', 0, 0, 4, 1}},
     {"abc", "QQn"}    },
    {"a quota of jobs counts what runs",
     CAPACITY(100,      0),
     {1, 1, 0},
     {{.quota = {2, -1, -1, -1}, .use = {1, 1, 0}}},
     {{'a', 0, 0, 1, 0}, {'b', 0, 0, 1, 0}},
     {"ab", "nq"}      },
    {"a tenant at its quota does not hold up another",
     CAPACITY(4,        0),
     {1, 2, 0},
     {{.quota = {-1, -1, 2, -1}, .use = {1, 2, 0}}, FREE_QUOTA},
     {{'a', 0, 5, 2, 0}, {'b', 1, 0, 2, 0}},
     {"ab", "qn"}      },
    {"a job blocked by quota keeps its place within the tenant",
     CAPACITY(100,      0),
     {1, 2, 0},
     {{.quota = {-1, -1, 4, -1}, .use = {1, 2, 0}}},
     {{'a', 0, 0, 3, 0}, {'b', 0, 0, 1, 0}},
     {"ab", "qq"}      },
    {"a GPU quota does not hold up jobs without GPUs",
     CAPACITY(100,      8),
     {1, 1, 2},
     {{.quota = {-1, -1, -1, 2}, .use = {1, 1, 2}}},
     {{'a', 0, 0, 1, 1}, {'b', 0, 0, 1, 0}},
     {"ab", "qn"}      },
    {"an unknown capacity has no limit",
     CAPACITY(NO_LIMIT, NO_LIMIT),
     {0},
     {FREE_QUOTA},
     {{'a', 0, 0, 1000, 64000}, {'b', 0, 0, 1000, 64000}},
     {"ab", "nn"}      },
    {"a machine that holds more than it can (it shrank) admits nobody",
     CAPACITY(2,        0),
     {2, 5, 0},
     {{.quota = {-1, -1, -1, -1}, .use = {2, 5, 0}}},
     {{'a', 0, 0, 1, 0}},
     {"a", "c"}        },
    {"a quota of nothing admits nothing",
     CAPACITY(4,        0),
     {0},
     {QUOTA(0, -1, -1)},
     {{'a', 0, 0, 1, 0}},
     {"a", "Q"}        },
};

static char verdict_letter(admit_verdict verdict)
{
    static const char letters[] = {[ADMIT_NOW] = 'n',
                                   [ADMIT_WAITS_FOR_QUOTA] = 'q',
                                   [ADMIT_WAITS_FOR_CAPACITY] = 'c',
                                   [ADMIT_ABOVE_QUOTA] = 'Q',
                                   [ADMIT_ABOVE_CAPACITY] = 'C'};
    return letters[verdict];
}

static void judge_case(const struct admit_case *test)
{
    struct admit_job jobs[MAX_JOBS] = {0};
    size_t count = 0;
    for (; count < MAX_JOBS && test->wishes[count].name != 0; count++) {
        const struct wish *wish = &test->wishes[count];
        jobs[count] = (struct admit_job){.tenant = wish->tenant,
                                         .age = (int64_t)count,
                                         .priority = wish->priority,
                                         .replicas = wish->replicas,
                                         .gpus = wish->gpus,
                                         .owner = (void *)wish};
    }
    struct admit_round round = {.tenants = test->tenants,
                                .tenants_count = MAX_TENANTS,
                                .jobs = jobs,
                                .jobs_count = count,
                                .capacity = test->capacity,
                                .use = test->use};
    char order[MAX_JOBS + 1] = "";
    char verdicts[MAX_JOBS + 1] = "";
    assert_int_equal(admit_judge(&round), TY_OK);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(jobs[i].position, (int64_t)i + 1);
        order[i] = ((const struct wish *)jobs[i].owner)->name;
        verdicts[i] = verdict_letter(jobs[i].verdict);
    }
    if (strcmp(order, test->expected.order) != 0 || strcmp(verdicts, test->expected.verdicts) != 0)
        fail_msg("%s: got %s %s, expected %s %s", test->title, order, verdicts,
                 test->expected.order, test->expected.verdicts);
}

static void every_case_of_the_table_is_judged_as_it_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        judge_case(&cases[i]);
}

/* Over many random rounds: what is admitted fits, in every dimension, whatever the order was. */
static void what_is_admitted_always_fits(void **state)
{
    (void)state;
    struct ty_seeded seeded;
    struct ty_random random = ty_random_seeded(&seeded, 7);
    for (int round_number = 0; round_number < 3000; round_number++) {
        struct admit_tenant tenants[3];
        struct admit_job jobs[40] = {0};
        size_t count = (size_t)ty_random_below(&random, 41);
        for (size_t i = 0; i < 3; i++) {
            tenants[i] = (struct admit_tenant){.quota = open_quota};
            tenants[i].quota.max_replicas = (int32_t)ty_random_below(&random, 12) - 1;
            tenants[i].quota.max_gpus = (int32_t)ty_random_below(&random, 6) - 1;
            tenants[i].quota.max_jobs = (int32_t)ty_random_below(&random, 6) - 1;
        }
        for (size_t i = 0; i < count; i++)
            jobs[i] = (struct admit_job){.tenant = (size_t)ty_random_below(&random, 3),
                                         .age = (int64_t)i,
                                         .priority = (int32_t)ty_random_below(&random, 3) - 1,
                                         .replicas = 1 + (int32_t)ty_random_below(&random, 5),
                                         .gpus = (int32_t)ty_random_below(&random, 3)};
        struct admit_round round = {.tenants = tenants,
                                    .tenants_count = 3,
                                    .jobs = jobs,
                                    .jobs_count = count,
                                    .capacity = CAPACITY(10, 4)};
        assert_int_equal(admit_judge(&round), TY_OK);
        struct admit_use all = {0};
        struct admit_use each[3] = {0};
        for (size_t i = 0; i < count; i++) {
            if (jobs[i].verdict != ADMIT_NOW)
                continue;
            struct admit_use *use = &each[jobs[i].tenant];
            use->jobs++;
            use->replicas += jobs[i].replicas;
            use->gpus += jobs[i].gpus;
            all.replicas += jobs[i].replicas;
            all.gpus += jobs[i].gpus;
        }
        assert_true(all.replicas <= 10 && all.gpus <= 4);
        for (size_t i = 0; i < 3; i++) {
            const struct ty_quota *quota = &tenants[i].quota;
            assert_true(quota->max_jobs < 0 || each[i].jobs <= quota->max_jobs);
            assert_true(quota->max_replicas < 0 || each[i].replicas <= quota->max_replicas);
            assert_true(quota->max_gpus < 0 || each[i].gpus <= quota->max_gpus);
        }
    }
}

/* The first in the order that could ever run is never left waiting while what it needs is free. */
static void the_head_of_the_line_starts_when_it_fits(void **state)
{
    (void)state;
    struct ty_seeded seeded;
    struct ty_random random = ty_random_seeded(&seeded, 11);
    for (int round_number = 0; round_number < 2000; round_number++) {
        struct admit_tenant tenant = {.quota = open_quota};
        struct admit_job jobs[20] = {0};
        int64_t used = (int64_t)ty_random_below(&random, 9);
        tenant.use = (struct admit_use){1, used, 0};
        for (size_t i = 0; i < 20; i++)
            jobs[i] = (struct admit_job){.age = (int64_t)i,
                                         .replicas = 1 + (int32_t)ty_random_below(&random, 12)};
        struct admit_round round = {.tenants = &tenant,
                                    .tenants_count = 1,
                                    .jobs = jobs,
                                    .jobs_count = 20,
                                    .capacity = CAPACITY(8, 0),
                                    .use = tenant.use};
        assert_int_equal(admit_judge(&round), TY_OK);
        size_t head = 0;
        while (head < 20 && jobs[head].verdict == ADMIT_ABOVE_CAPACITY)
            head++;
        if (head < 20)
            assert_int_equal(jobs[head].verdict == ADMIT_NOW, jobs[head].replicas <= 8 - used);
    }
}

static int by_line(const void *a, const void *b)
{
    const struct admit_job *x = a;
    const struct admit_job *y = b;
    if (x->tenant != y->tenant)
        return x->tenant < y->tenant ? -1 : 1;
    if (x->priority != y->priority)
        return x->priority > y->priority ? -1 : 1;
    return x->age < y->age ? -1 : x->age > y->age;
}

/* Of each line what can be reached: the jobs must be sorted by line. */
static size_t reachable(const struct admit_round *round, struct admit_job *out)
{
    struct admit_reach reach;
    size_t count = 0;
    for (size_t i = 0; i < round->jobs_count; i++) {
        const struct admit_job *job = &round->jobs[i];
        if (i == 0 || round->jobs[i - 1].tenant != job->tenant)
            admit_reach_init(&reach, round, &round->tenants[job->tenant]);
        if (!admit_reach_open(&reach))
            continue;
        admit_reach_take(&reach, job);
        out[count++] = *job;
    }
    return count;
}

static uint64_t admitted(struct admit_round *round)
{
    uint64_t ages = 0;
    assert_int_equal(admit_judge(round), TY_OK);
    for (size_t i = 0; i < round->jobs_count; i++)
        if (round->jobs[i].verdict == ADMIT_NOW)
            ages |= UINT64_C(1) << round->jobs[i].age;
    return ages;
}

/* Over many random rounds: a look as far as each line can be reached admits the very jobs that a
 * look at all of them does, and mostly looks at fewer. */
static void a_round_of_the_reachable_jobs_admits_what_a_whole_one_does(void **state)
{
    (void)state;
    struct ty_seeded seeded;
    struct ty_random random = ty_random_seeded(&seeded, 13);
    size_t looked_at = 0;
    size_t all = 0;
    for (int round_number = 0; round_number < 20000; round_number++) {
        struct admit_tenant tenants[3] = {0};
        struct admit_job jobs[60] = {0};
        struct admit_job near[60];
        size_t count = (size_t)ty_random_below(&random, 61);
        for (size_t i = 0; i < 3; i++) {
            tenants[i].quota = open_quota;
            tenants[i].quota.max_replicas = (int32_t)ty_random_below(&random, 20) - 1;
            tenants[i].quota.max_gpus = (int32_t)ty_random_below(&random, 6) - 1;
            tenants[i].quota.max_jobs = (int32_t)ty_random_below(&random, 8) - 1;
            tenants[i].use.jobs = (int64_t)ty_random_below(&random, 3);
            tenants[i].use.replicas = tenants[i].use.jobs;
        }
        for (size_t i = 0; i < count; i++)
            jobs[i] = (struct admit_job){.tenant = (size_t)ty_random_below(&random, 3),
                                         .age = (int64_t)i,
                                         .priority = (int32_t)ty_random_below(&random, 3) - 1,
                                         .replicas = 1 + (int32_t)ty_random_below(&random, 5),
                                         .gpus = (int32_t)ty_random_below(&random, 3)};
        qsort(jobs, count, sizeof(jobs[0]), by_line);
        struct admit_round whole = {.tenants = tenants,
                                    .tenants_count = 3,
                                    .jobs = jobs,
                                    .jobs_count = count,
                                    .capacity = CAPACITY((int32_t)ty_random_below(&random, 30) - 1,
                                                         (int32_t)ty_random_below(&random, 9) - 1)};
        for (size_t i = 0; i < 3; i++)
            whole.use.replicas += tenants[i].use.replicas;
        struct admit_round part = whole;
        part.jobs = near;
        part.jobs_count = reachable(&whole, near);
        looked_at += part.jobs_count;
        all += count;
        assert_true(admitted(&part) == admitted(&whole));
    }
    assert_true(looked_at < all * 3 / 4);
}

static void an_empty_line_is_no_failure(void **state)
{
    (void)state;
    struct admit_round round = {.capacity = CAPACITY(4, 0)};
    assert_int_equal(admit_judge(&round), TY_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_of_the_table_is_judged_as_it_says),
        cmocka_unit_test(what_is_admitted_always_fits),
        cmocka_unit_test(the_head_of_the_line_starts_when_it_fits),
        cmocka_unit_test(a_round_of_the_reachable_jobs_admits_what_a_whole_one_does),
        cmocka_unit_test(an_empty_line_is_no_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
