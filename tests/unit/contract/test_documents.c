#include "small.h"

#include "trainyard/contract/documents.h"

static void every_document_is_there_with_a_strong_tag_of_its_own(void **state)
{
    const struct ty_document *documents[] = {ty_contract_document(), ty_contract_docs(),
                                             ty_contract_style(), ty_contract_rules()};

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(documents); i++) {
        const char *etag = documents[i]->etag;

        assert_true(documents[i]->len > 1000);
        assert_int_equal(strlen(etag), 26);
        assert_true(etag[0] == '"' && etag[25] == '"');
        assert_string_not_equal(etag, documents[(i + 1) % UNIT_COUNT(documents)]->etag);
    }
    assert_string_equal(documents[0]->media_type, "application/json");
    assert_string_equal(documents[1]->media_type, "text/html; charset=utf-8");
}

static void the_document_is_compact_json_of_the_contract(void **state)
{
    const struct ty_document *document = ty_contract_document();
    json_t *json = json_loadb(document->bytes, document->len, JSON_REJECT_DUPLICATES, NULL);

    (void)state;
    assert_non_null(json);
    assert_string_equal(json_string_value(json_object_get(json, "openapi")), "3.1.0");
    assert_null(memchr(document->bytes, '\n', document->len));
    json_decref(json);
}

static void assert_same_types(const char *const *a, const char *const *b)
{
    for (; *a || *b; a++, b++) {
        assert_non_null(*a);
        assert_non_null(*b);
        assert_string_equal(*a, *b);
    }
}

static void assert_same_operation(const struct ty_operation *a, const struct ty_operation *b)
{
    assert_string_equal(ty_operation_id(a), ty_operation_id(b));
    assert_string_equal(ty_operation_method(a), ty_operation_method(b));
    assert_string_equal(ty_operation_path(a), ty_operation_path(b));
    assert_int_equal(ty_operation_public(a), ty_operation_public(b));
    assert_int_equal(ty_operation_body_limit(a), ty_operation_body_limit(b));
    assert_int_equal(ty_operation_body_required(a), ty_operation_body_required(b));
    if (ty_operation_scope(a))
        assert_string_equal(ty_operation_scope(a), ty_operation_scope(b));
    assert_same_types(ty_operation_consumes(a), ty_operation_consumes(b));
    assert_same_types(ty_operation_produces(a), ty_operation_produces(b));
}

/* Every example body of the whole document, and wrong ones, judged by both. */
static void assert_same_judgement(const struct ty_operation *a, const struct ty_operation *b)
{
    static const char *const bodies[] = {
        "{}",
        "[]",
        "{\"image\": \"a b\", \"description\": 1, \"tags\": 2, \"labels\": {\"/\": 1}}",
        "{\"description\": \"d\", \"image\": \"a\", \"script\": \"x\", \"name\": \"n\"}",
        "{\"name\": \"n\", \"size\": \"1Gi\"}",
    };

    for (size_t i = 0; i < UNIT_COUNT(bodies); i++) {
        ty_auto_json json = small_json(bodies[i]);
        struct ty_faults first;
        struct ty_faults second;

        ty_faults_init(&first);
        ty_faults_init(&second);
        assert_int_equal(ty_operation_check_body(a, NULL, json, &first, NULL),
                         ty_operation_check_body(b, NULL, json, &second, NULL));
        assert_int_equal(first.count, second.count);
        for (size_t j = 0; j < first.count; j++) {
            assert_string_equal(first.items[j].where, second.items[j].where);
            assert_string_equal(first.items[j].detail, second.items[j].detail);
        }
    }
}

static void the_rules_check_what_the_whole_document_does(void **state)
{
    const struct ty_document *whole = ty_contract_document();
    const struct ty_document *rules = ty_contract_rules();
    struct ty_contract *a = NULL;
    struct ty_contract *b = NULL;

    (void)state;
    assert_true(rules->len < whole->len / 2);
    assert_int_equal(ty_contract_create(whole->bytes, whole->len, &a, NULL), TY_OK);
    assert_int_equal(ty_contract_create(rules->bytes, rules->len, &b, NULL), TY_OK);
    assert_int_equal(ty_contract_operation_count(a), ty_contract_operation_count(b));
    for (size_t i = 0; i < ty_contract_operation_count(a); i++) {
        const struct ty_operation *operation = ty_contract_operation_at(a, i);

        assert_same_operation(operation, ty_contract_operation_at(b, i));
        if (ty_operation_body_limit(operation) > 0)
            assert_same_judgement(operation, ty_contract_operation_at(b, i));
    }
    ty_contract_destroy(a);
    ty_contract_destroy(b);
}

static bool page_holds(const struct ty_document *page, const char *text)
{
    return memmem(page->bytes, page->len, text, strlen(text)) != NULL;
}

static void the_page_names_every_operation_and_asks_for_nothing_from_elsewhere(void **state)
{
    const struct ty_document *document = ty_contract_document();
    const struct ty_document *page = ty_contract_docs();
    struct ty_contract *contract = NULL;
    char id[80];

    (void)state;
    assert_int_equal(ty_contract_create(document->bytes, document->len, &contract, NULL), TY_OK);
    for (size_t i = 0; i < ty_contract_operation_count(contract); i++) {
        (void)snprintf(id, sizeof id, "<article id=\"%s\">",
                       ty_operation_id(ty_contract_operation_at(contract, i)));
        if (!page_holds(page, id))
            fail_msg("no %s", id);
    }
    assert_false(page_holds(page, "<script"));
    assert_false(page_holds(page, "src="));
    assert_false(page_holds(page, "href=\"http"));
    assert_false(page_holds(page, "style="));
    assert_true(page_holds(page, "<html lang=\"en\">"));
    ty_contract_destroy(contract);
}

static void the_viewer_names_files_that_are_there_or_is_not_built_in(void **state)
{
    static const char folder[] = "\"/docs/assets/";
    const struct ty_document *page = ty_contract_viewer();
    const char *at = page ? page->bytes : NULL;
    size_t found = 0;

    (void)state;
    assert_null(ty_contract_viewer_asset(""));
    assert_null(ty_contract_viewer_asset("viewer-0000000000000000.js"));
    if (!page)
        return;
    while ((at = memmem(at, (size_t)(page->bytes + page->len - at), folder, strlen(folder)))) {
        const struct ty_document *asset;
        char name[64];

        at += strlen(folder);
        (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(at, "\""), at);
        asset = ty_contract_viewer_asset(name);
        assert_non_null(asset);
        assert_true(asset->whole_len > asset->len);
        assert_memory_equal(asset->bytes, "\x1f\x8b", 2);
        found++;
    }
    assert_int_equal(found, 3);
    assert_true(page_holds(page, "<noscript>"));
    assert_true(page_holds(page, "href=\"/docs/plain\""));
    assert_false(page_holds(page, "\"http"));
}

static void the_page_of_codes_has_an_anchor_a_code_and_escapes_its_text(void **state)
{
    static const struct ty_document_problem rows[] = {
        {"not_found", 404, "No <such> object",     "Look at `GET /v1/jobs` & \"others\"."},
        {"conflict",  409, "The state forbids it", "An `unclosed mark"                   },
    };
    ty_auto_buf page = {0};

    (void)state;
    ty_buf_init(&page, 1 << 20);
    ty_contract_errors_page(&page, rows, UNIT_COUNT(rows));
    assert_int_equal(ty_buf_check(&page, "page", NULL), TY_OK);
    assert_non_null(strstr(page.data, "<article id=\"not_found\">"));
    assert_non_null(strstr(page.data, "<a href=\"#conflict\">conflict</a>"));
    assert_non_null(strstr(page.data, "No &lt;such&gt; object"));
    assert_non_null(strstr(page.data, "<code>GET /v1/jobs</code> &amp; &quot;others&quot;."));
    assert_non_null(strstr(page.data, "<code>unclosed mark</code>"));
    assert_null(strstr(page.data, "<script"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_document_is_there_with_a_strong_tag_of_its_own),
        cmocka_unit_test(the_document_is_compact_json_of_the_contract),
        cmocka_unit_test(the_rules_check_what_the_whole_document_does),
        cmocka_unit_test(the_page_names_every_operation_and_asks_for_nothing_from_elsewhere),
        cmocka_unit_test(the_viewer_names_files_that_are_there_or_is_not_built_in),
        cmocka_unit_test(the_page_of_codes_has_an_anchor_a_code_and_escapes_its_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
