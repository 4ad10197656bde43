/* Tenants and tokens. */
#include "store_fixture.h"
#include "trainyard/base/str.h"
#include "trainyard/store/tenants.h"
#include "trainyard/store/tokens.h"
#include "trainyard/store/volumes.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

/* --- tenants --- */

static ty_status insert_tenant(struct ty_writer *writer, void *context, struct ty_error *err)
{
    return ty_tenants_insert(writer, context, err);
}

static ty_status delete_tenant(struct ty_writer *writer, void *context, struct ty_error *err)
{
    return ty_tenants_delete(writer, context, INT64_C(1767225600000000), err);
}

struct tenants_seen {
    char names[256];
    struct ty_tenant_record last;
    char description[64];
};

static bool look_tenant(void *context, const struct ty_tenant_record *tenant)
{
    struct tenants_seen *seen = context;
    strncat(seen->names, tenant->name, 64);
    strncat(seen->names, " ", 2);
    seen->last = *tenant;
    ty_str_copy(seen->description, sizeof(seen->description),
                tenant->description ? tenant->description : "(none)");
    return true;
}

static int64_t make_tenant(struct store_fixture *fixture, const char *name)
{
    struct ty_error err = {0};
    struct ty_tenant_record tenant = {
        .name = name,
        .namespace = name,
        .quota = {-1, -1, -1, -1},
        .default_keep_seconds = -1,
        .created_at = 5
    };
    if (store_apply(fixture->store, insert_tenant, &tenant, &err) != TY_OK)
        fail_msg("tenant: %s", err.text);
    return tenant.row;
}

static void the_first_start_makes_the_default_tenant_once(void **state)
{
    struct store_fixture *fixture = *state;
    struct ty_error err = {0};
    for (int i = 0; i < 2; i++) {
        struct tenants_seen seen = {0};
        assert_int_equal(ty_tenants_list(fixture->reader, 0, 10, look_tenant, &seen, &err), TY_OK);
        assert_string_equal(seen.names, "default ");
        assert_int_equal(seen.last.quota.max_jobs, -1);
        assert_int_equal(seen.last.created_at, ty_now_us(&fixture->time.clock));
        store_fixture_close(fixture);
        store_fixture_open(fixture);
    }
}

static void tenants_are_listed_in_order_and_by_pages(void **state)
{
    struct store_fixture *fixture = *state;
    struct ty_error err = {0};
    struct tenants_seen seen = {0};
    make_tenant(fixture, "vision");
    make_tenant(fixture, "audio");
    assert_int_equal(ty_tenants_list(fixture->reader, 0, 2, look_tenant, &seen, &err), TY_OK);
    assert_int_equal(ty_tenants_list(fixture->reader, seen.last.row, 2, look_tenant, &seen, &err),
                     TY_OK);
    assert_string_equal(seen.names, "default vision audio ");
}

static void a_tenants_name_and_namespace_are_its_own(void **state)
{
    static const struct {
        const char *name;
        const char *namespace;
        ty_status status;
        const char *code;
    } cases[] = {
        {"vision", "other",  TY_CONFLICT, "tenant_exists"  },
        {"other",  "vision", TY_CONFLICT, "namespace_taken"},
        {"",       "other",  TY_INTERNAL, ""               }, /* the schema's own check */
        {"other",  "other",  TY_OK,       ""               },
    };
    struct store_fixture *fixture = *state;
    make_tenant(fixture, "vision");
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct ty_error err = {0};
        struct ty_tenant_record tenant = {.name = cases[i].name, .namespace = cases[i].namespace};
        assert_int_equal(store_apply(fixture->store, insert_tenant, &tenant, &err),
                         cases[i].status);
        assert_string_equal(err.code, cases[i].code);
        assert_int_equal(tenant.row > 0, cases[i].status == TY_OK);
    }
}

static ty_status save_tenant(struct ty_writer *writer, void *context, struct ty_error *err)
{
    struct ty_tenant_record tenant;
    ty_status status = ty_tenants_find(writer, context, &tenant, err);
    if (status != TY_OK)
        return status;
    tenant.description = "of the vision team";
    tenant.quota.max_gpus = 8;
    tenant.default_keep_seconds = 60;
    tenant.updated_at = 9;
    status = ty_tenants_save(writer, &tenant, err);
    assert_int_equal(tenant.revision, 2);
    return status;
}

static void a_saved_tenant_reads_back(void **state)
{
    struct store_fixture *fixture = *state;
    struct ty_error err = {0};
    struct tenants_seen seen = {0};
    make_tenant(fixture, "vision");
    assert_int_equal(store_apply(fixture->store, save_tenant, "vision", &err), TY_OK);
    assert_int_equal(store_apply(fixture->store, save_tenant, "nobody", &err), TY_NOT_FOUND);
    assert_int_equal(ty_tenants_get(fixture->reader, "vision", look_tenant, &seen, &err), TY_OK);
    assert_string_equal(seen.description, "of the vision team");
    assert_int_equal(seen.last.quota.max_gpus, 8);
    assert_int_equal(seen.last.default_keep_seconds, 60);
    assert_int_equal(seen.last.updated_at, 9);
    assert_int_equal(seen.last.revision, 2);
}

/* --- tokens --- */

struct new_token {
    struct ty_token_record token;
    uint8_t digest[TY_SHA256];
};

static ty_status insert_token(struct ty_writer *writer, void *context, struct ty_error *err)
{
    struct new_token *made = context;
    return ty_tokens_insert(writer, &made->token, made->digest, err);
}

static struct new_token token_of(int64_t tenant, const char *id, const char *text,
                                 const struct ty_store *store)
{
    struct new_token made = {
        .token = {.tenant = tenant,
                  .id = id,
                  .name = "ci",
                  .kind = 's',
                  .hint = "abcd1234",
                  .role = TY_ROLE_SUBMITTER,
                  .scopes = UINT64_C(1) << 63 | 5,
                  .created_at = 100,
                  .created_by = "tok_root",
                  .expires_at = 1000}
    };
    assert_int_equal(ty_tokens_digest(store, text, made.digest), TY_OK);
    return made;
}

static void make_token(struct store_fixture *fixture, int64_t tenant, const char *id,
                       const char *text)
{
    struct ty_error err = {0};
    struct new_token made = token_of(tenant, id, text, fixture->store);
    if (store_apply(fixture->store, insert_token, &made, &err) != TY_OK)
        fail_msg("token: %s", err.text);
}

struct loaded {
    size_t count;
    int64_t until[8];
    uint8_t digests[8][TY_SHA256];
};

static bool note_digest(void *context, const uint8_t digest[TY_SHA256], int64_t valid_until,
                        const struct ty_token_record *token)
{
    struct loaded *loaded = context;
    (void)token;
    assert_true(loaded->count < 8);
    memcpy(loaded->digests[loaded->count], digest, TY_SHA256);
    loaded->until[loaded->count++] = valid_until;
    return true;
}

/* Until when a text is good at `now`; -1 = it opens nothing. */
static int64_t good_until(struct store_fixture *fixture, const char *text, int64_t now)
{
    struct loaded loaded = {0};
    struct ty_error err = {0};
    uint8_t digest[TY_SHA256];
    assert_int_equal(ty_tokens_digest(fixture->store, text, digest), TY_OK);
    assert_int_equal(ty_tokens_load(fixture->reader, now, note_digest, &loaded, &err), TY_OK);
    for (size_t i = 0; i < loaded.count; i++)
        if (memcmp(loaded.digests[i], digest, TY_SHA256) == 0)
            return loaded.until[i];
    return -1;
}

struct tokens_seen {
    size_t count;
    struct ty_token_record last;
    char ids[128];
    char tenant_name[64];
};

static bool look_token(void *context, const struct ty_token_record *token)
{
    struct tokens_seen *seen = context;
    seen->count++;
    seen->last = *token;
    strncat(seen->ids, token->id, 40);
    strncat(seen->ids, " ", 2);
    ty_str_copy(seen->tenant_name, sizeof(seen->tenant_name), token->tenant_name);
    return true;
}

static void a_token_reads_back_without_its_text(void **state)
{
    struct store_fixture *fixture = *state;
    struct tokens_seen seen = {0};
    struct ty_error err = {0};
    make_token(fixture, fixture->tenant, "tok_1", "ty_s_secret");
    assert_int_equal(
        ty_tokens_get(fixture->reader, fixture->tenant, "tok_1", look_token, &seen, &err), TY_OK);
    assert_string_equal(seen.tenant_name, "default");
    assert_int_equal(seen.last.kind, 's');
    assert_string_equal(seen.last.hint, "abcd1234");
    assert_int_equal(seen.last.role, TY_ROLE_SUBMITTER);
    assert_true(seen.last.scopes == (UINT64_C(1) << 63 | 5));
    assert_int_equal(seen.last.expires_at, 1000);
    assert_int_equal(good_until(fixture, "ty_s_secret", 999), 1000);
    assert_int_equal(good_until(fixture, "ty_s_secret", 1000), -1);
    assert_int_equal(good_until(fixture, "ty_s_other", 1), -1);
    assert_int_equal(
        ty_tokens_get(fixture->reader, fixture->tenant + 1, "tok_1", look_token, &seen, &err),
        TY_NOT_FOUND);
}

static void a_token_clashes_by_id_text_or_tenant(void **state)
{
    struct store_fixture *fixture = *state;
    struct ty_error err = {0};
    make_token(fixture, fixture->tenant, "tok_1", "one");
    struct new_token same_id = token_of(fixture->tenant, "tok_1", "two", fixture->store);
    struct new_token same_text = token_of(fixture->tenant, "tok_2", "one", fixture->store);
    struct new_token homeless = token_of(77, "tok_3", "three", fixture->store);
    assert_int_equal(store_apply(fixture->store, insert_token, &same_id, &err), TY_CONFLICT);
    assert_int_equal(store_apply(fixture->store, insert_token, &same_text, &err), TY_CONFLICT);
    assert_int_equal(same_text.token.row, 0);
    assert_int_equal(store_apply(fixture->store, insert_token, &homeless, &err), TY_NOT_FOUND);
    assert_string_equal(err.code, "tenant_not_found");
    struct tokens_seen seen = {0};
    assert_int_equal(
        ty_tokens_list(fixture->reader, fixture->tenant, 0, 10, look_token, &seen, &err), TY_OK);
    assert_int_equal(seen.count, 1); /* the half-made one was undone */
}

static void tokens_are_listed_newest_first(void **state)
{
    struct store_fixture *fixture = *state;
    struct tokens_seen seen = {0};
    struct ty_error err = {0};
    make_token(fixture, fixture->tenant, "tok_1", "one");
    make_token(fixture, fixture->tenant, "tok_2", "two");
    make_token(fixture, fixture->tenant, "tok_3", "three");
    assert_int_equal(
        ty_tokens_list(fixture->reader, fixture->tenant, 0, 2, look_token, &seen, &err), TY_OK);
    assert_int_equal(
        ty_tokens_list(fixture->reader, fixture->tenant, seen.last.row, 2, look_token, &seen, &err),
        TY_OK);
    assert_string_equal(seen.ids, "tok_3 tok_2 tok_1 ");
}

static ty_status revoke(struct ty_writer *writer, void *context, struct ty_error *err)
{
    return ty_tokens_revoke(writer, 0, context, 500, err);
}

static ty_status rotate(struct ty_writer *writer, void *context, struct ty_error *err)
{
    return ty_tokens_rotate(writer, context, err);
}

static ty_status rotate_to(struct store_fixture *fixture, const char *text, int64_t now,
                           int64_t grace, struct ty_error *err)
{
    uint8_t digest[TY_SHA256];
    struct ty_token_rotation rotation = {.tenant = fixture->tenant,
                                         .id = "tok_1",
                                         .hint = "newhint1",
                                         .digest = digest,
                                         .now = now,
                                         .grace_us = grace};
    assert_int_equal(ty_tokens_digest(fixture->store, text, digest), TY_OK);
    return store_apply(fixture->store, rotate, &rotation, err);
}

static void a_revoked_token_opens_nothing(void **state)
{
    struct store_fixture *fixture = *state;
    struct tokens_seen seen = {0};
    struct ty_error err = {0};
    make_token(fixture, fixture->tenant, "tok_1", "one");
    assert_int_equal(store_apply(fixture->store, revoke, "tok_1", &err), TY_OK);
    assert_int_equal(good_until(fixture, "one", 1), -1);
    assert_int_equal(store_apply(fixture->store, revoke, "tok_1", &err), TY_OK);
    assert_int_equal(store_apply(fixture->store, revoke, "tok_x", &err), TY_NOT_FOUND);
    assert_int_equal(
        ty_tokens_get(fixture->reader, fixture->tenant, "tok_1", look_token, &seen, &err), TY_OK);
    assert_int_equal(seen.last.revoked_at, 500);
    assert_int_equal(rotate_to(fixture, "two", 100, 0, &err), TY_CONFLICT);
    assert_string_equal(err.code, "token_revoked");
}

static void a_rotated_token_keeps_its_old_text_for_the_grace_time(void **state)
{
    struct store_fixture *fixture = *state;
    struct tokens_seen seen = {0};
    struct ty_error err = {0};
    make_token(fixture, fixture->tenant, "tok_1", "one");
    assert_int_equal(rotate_to(fixture, "two", 100, 50, &err), TY_OK);
    assert_int_equal(good_until(fixture, "one", 149), 150);
    assert_int_equal(good_until(fixture, "one", 150), -1);
    assert_int_equal(good_until(fixture, "two", 150), 1000);
    /* A longer grace does not give an older text more time. */
    assert_int_equal(rotate_to(fixture, "three", 110, 500, &err), TY_OK);
    assert_int_equal(good_until(fixture, "one", 120), 150);
    assert_int_equal(good_until(fixture, "two", 120), 610);
    /* None at all ends the older ones at once. */
    assert_int_equal(rotate_to(fixture, "four", 120, 0, &err), TY_OK);
    assert_int_equal(good_until(fixture, "one", 120), -1);
    assert_int_equal(good_until(fixture, "three", 120), -1);
    assert_int_equal(good_until(fixture, "four", 120), 1000);
    assert_int_equal(
        ty_tokens_get(fixture->reader, fixture->tenant, "tok_1", look_token, &seen, &err), TY_OK);
    assert_string_equal(seen.last.hint, "newhint1");
    assert_int_equal(rotate_to(fixture, "five", 1000, 0, &err), TY_CONFLICT);
    assert_string_equal(err.code, "token_expired");
}

static ty_status use_tokens(struct ty_writer *writer, void *context, struct ty_error *err)
{
    return ty_tokens_used(writer, context, 2, err);
}

static void uses_move_forward_only(void **state)
{
    struct store_fixture *fixture = *state;
    struct tokens_seen seen = {0};
    struct ty_error err = {0};
    make_token(fixture, fixture->tenant, "tok_1", "one");
    struct ty_token_use uses[2] = {
        {1,  70},
        {99, 70}
    };
    assert_int_equal(store_apply(fixture->store, use_tokens, uses, &err), TY_OK);
    uses[0].at = 60;
    assert_int_equal(store_apply(fixture->store, use_tokens, uses, &err), TY_OK);
    assert_int_equal(
        ty_tokens_get(fixture->reader, fixture->tenant, "tok_1", look_token, &seen, &err), TY_OK);
    assert_int_equal(seen.last.last_used_at, 70);
}

/* --- removing tenants --- */

static void only_an_empty_tenant_is_removed(void **state)
{
    struct store_fixture *fixture = *state;
    struct ty_error err = {0};
    struct tenants_seen seen = {0};
    int64_t row = make_tenant(fixture, "vision");
    int64_t home = fixture->tenant;
    assert_int_equal(store_apply(fixture->store, delete_tenant, "default", &err), TY_CONFLICT);
    assert_string_equal(err.code, "tenant_default");
    assert_int_equal(store_apply(fixture->store, delete_tenant, "nobody", &err), TY_NOT_FOUND);

    fixture->tenant = row;
    test_job_make(fixture, "mnist", NULL);
    fixture->tenant = home;
    assert_int_equal(store_apply(fixture->store, delete_tenant, "vision", &err), TY_CONFLICT);
    assert_string_equal(err.code, "tenant_not_empty");

    int64_t second = make_tenant(fixture, "audio");
    struct new_token live = token_of(second, "tok_1", "one", fixture->store);
    live.token.expires_at = 0;
    assert_int_equal(store_apply(fixture->store, insert_token, &live, &err), TY_OK);
    assert_int_equal(store_apply(fixture->store, delete_tenant, "audio", &err), TY_CONFLICT);
    assert_int_equal(store_apply(fixture->store, revoke, "tok_1", &err), TY_OK);
    assert_int_equal(store_apply(fixture->store, delete_tenant, "audio", &err), TY_OK);
    assert_int_equal(ty_tenants_get(fixture->reader, "audio", look_tenant, &seen, &err),
                     TY_NOT_FOUND);
    assert_true(make_tenant(fixture, "audio") > second); /* rows are never given again */
}

#define TEST(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, store_fixture_setup, store_fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_first_start_makes_the_default_tenant_once),
        TEST(tenants_are_listed_in_order_and_by_pages),
        TEST(a_tenants_name_and_namespace_are_its_own),
        TEST(a_saved_tenant_reads_back),
        TEST(a_token_reads_back_without_its_text),
        TEST(a_token_clashes_by_id_text_or_tenant),
        TEST(tokens_are_listed_newest_first),
        TEST(a_revoked_token_opens_nothing),
        TEST(a_rotated_token_keeps_its_old_text_for_the_grace_time),
        TEST(uses_move_forward_only),
        TEST(only_an_empty_tenant_is_removed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
