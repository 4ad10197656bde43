/* One contract, many threads: nothing of it changes while it is used. Run under the thread
 * sanitizer. */
#include "small.h"

#include "source.h"

#include "trainyard/contract/documents.h"

#include <pthread.h>

enum { THREADS = 4, ROUNDS = 200 };

struct shared {
    const struct ty_contract *contract;
    const json_t *good;
    const json_t *bad;
};

static bool check_both(const struct shared *shared)
{
    const struct ty_operation *operation = ty_contract_operation(shared->contract, "jobs_create");
    struct ty_faults faults;

    ty_faults_init(&faults);
    return ty_operation_check_body(operation, NULL, shared->good, &faults, NULL) == TY_OK &&
           ty_operation_check_body(operation, NULL, shared->bad, &faults, NULL) == TY_REFUSED &&
           faults.count == 2;
}

static bool check_arguments(const struct shared *shared)
{
    struct source_list list = {
        {{'q', "state", "running,lost"}, {'q', "label", "a=b"}}
    };
    struct ty_parameter_source source = source_of(&list);
    struct ty_arguments arguments;
    struct ty_faults faults;

    ty_faults_init(&faults);
    return ty_operation_check_parameters(ty_contract_operation(shared->contract, "jobs_list"),
                                         &source, &arguments, &faults, NULL) == TY_OK &&
           ty_argument_count(&arguments, "state") == 2;
}

static void *run(void *context)
{
    for (int i = 0; i < ROUNDS; i++) {
        if (!check_both(context) || !check_arguments(context))
            return context;
    }
    return NULL;
}

static void many_threads_check_with_one_contract(void **state)
{
    const struct ty_document *document = ty_contract_rules();
    struct ty_contract *contract = NULL;
    ty_auto_json good =
        small_json("{\"image\": \"a/b:1\", \"script\": \"x\", \"env\": {\"A\": \"b\"},"
                   " \"dataset\": \"d\", \"resources\": {\"memory\": \"1Gi\"}}");
    ty_auto_json bad = small_json("{\"image\": \"a b\", \"script\": \"x\", \"dataset\": \"D\"}");
    struct shared shared = {.good = good, .bad = bad};
    pthread_t threads[THREADS];

    (void)state;
    assert_int_equal(ty_contract_create(document->bytes, document->len, &contract, NULL), TY_OK);
    shared.contract = contract;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run, &shared), 0);
    for (int i = 0; i < THREADS; i++) {
        void *failed = NULL;

        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    ty_contract_destroy(contract);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_threads_check_with_one_contract),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
