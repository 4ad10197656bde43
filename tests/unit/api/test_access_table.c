#include "api/access_table.h"

#include "store_fixture.h"
#include "trainyard/base/str.h"
#include "unit.h"

#include <stdlib.h>

enum { SECOND = 1000000 };

struct made {
    struct ty_token_record token;
    char id[TY_ID_TEXT];
    uint8_t digest[TY_SHA256];
};

static ty_status insert(struct ty_writer *writer, void *context, struct ty_error *err)
{
    struct made *made = context;
    return ty_tokens_insert(writer, &made->token, made->digest, err);
}

/* A viewer's token of the default tenant whose digest is `seed` repeated; expires_at 0 = never. */
static void make_token(struct store_fixture *fixture, struct made *made, uint8_t seed,
                       int64_t expires_at)
{
    struct ty_error err;
    *made = (struct made){
        .token = {.tenant = fixture->tenant,
                  .id = made->id,
                  .name = "test",
                  .kind = 'u',
                  .hint = "12345678",
                  .role = TY_ROLE_VIEWER,
                  .scopes = TY_SCOPE_JOBS_READ,
                  .created_at = 1 * SECOND,
                  .expires_at = expires_at}
    };
    ty_id_make(ty_random_system(), 1 * SECOND, "tok_", made->id);
    memset(made->digest, seed, sizeof made->digest);
    assert_int_equal(store_apply(fixture->store, insert, made, &err), TY_OK);
}

static struct ty_access_table *loaded(struct store_fixture *fixture, int64_t now)
{
    struct ty_access_table *table = NULL;
    struct ty_error err;
    assert_int_equal(ty_access_table_create(&table), TY_OK);
    assert_int_equal(ty_access_table_reload(table, fixture->reader, now, &err), TY_OK);
    return table;
}

static void a_token_is_found_by_its_digest_until_it_expires(void **state)
{
    struct store_fixture *fixture = *state;
    struct made made;
    struct ty_principal principal = {.token = 77};
    make_token(fixture, &made, 0xaa, 100 * (int64_t)SECOND);
    struct ty_access_table *table = loaded(fixture, 10 * SECOND);
    assert_true(ty_access_table_find(table, made.digest, 99 * (int64_t)SECOND, &principal));
    assert_int_equal(principal.token, made.token.row);
    assert_string_equal(principal.tenant_name, "default");
    assert_int_equal(principal.scopes, TY_SCOPE_JOBS_READ);
    principal.token = 77;
    assert_false(ty_access_table_find(table, made.digest, 100 * (int64_t)SECOND, &principal));
    assert_int_equal(principal.token, 77);
    assert_true(ty_access_table_alive(table, made.token.row, 99 * (int64_t)SECOND));
    assert_false(ty_access_table_alive(table, made.token.row, 100 * (int64_t)SECOND));
    ty_access_table_destroy(table);
}

static ty_status revoke(struct ty_writer *writer, void *context, struct ty_error *err)
{
    const struct made *made = context;
    return ty_tokens_revoke(writer, made->token.tenant, made->id, 20 * SECOND, err);
}

static void a_revoked_token_is_gone_after_the_reload(void **state)
{
    struct store_fixture *fixture = *state;
    struct made made;
    struct made other;
    struct ty_principal principal;
    struct ty_error err;
    make_token(fixture, &made, 0xbb, 0);
    make_token(fixture, &other, 0xcc, 0);
    struct ty_access_table *table = loaded(fixture, 10 * SECOND);
    assert_int_equal(store_apply(fixture->store, revoke, &made, &err), TY_OK);
    assert_true(ty_access_table_find(table, made.digest, 30 * SECOND, &principal));
    assert_int_equal(ty_access_table_reload(table, fixture->reader, 30 * SECOND, &err), TY_OK);
    assert_false(ty_access_table_find(table, made.digest, 30 * SECOND, &principal));
    assert_false(ty_access_table_alive(table, made.token.row, 30 * SECOND));
    assert_true(ty_access_table_find(table, other.digest, 30 * SECOND, &principal));
    ty_access_table_destroy(table);
}

static void uses_are_taken_once_and_survive_a_reload(void **state)
{
    struct store_fixture *fixture = *state;
    struct made made;
    struct ty_principal principal;
    struct ty_token_use uses[4];
    struct ty_error err;
    make_token(fixture, &made, 0xdd, 0);
    struct ty_access_table *table = loaded(fixture, 10 * SECOND);
    assert_int_equal(ty_access_table_take_uses(table, uses, UNIT_COUNT(uses)), 0);
    assert_true(ty_access_table_find(table, made.digest, 42 * SECOND, &principal));
    assert_int_equal(ty_access_table_reload(table, fixture->reader, 43 * SECOND, &err), TY_OK);
    assert_int_equal(ty_access_table_take_uses(table, uses, UNIT_COUNT(uses)), 1);
    assert_int_equal(uses[0].row, made.token.row);
    assert_int_equal(uses[0].at, 42 * SECOND);
    assert_int_equal(ty_access_table_take_uses(table, uses, UNIT_COUNT(uses)), 0);
    ty_access_table_destroy(table);
}

static void tenants_are_known_by_name(void **state)
{
    struct store_fixture *fixture = *state;
    struct ty_access_tenant tenant = {.row = 77};
    struct ty_access_table *table = loaded(fixture, 10 * SECOND);
    assert_false(ty_access_table_tenant(table, "nobody", &tenant));
    assert_int_equal(tenant.row, 77);
    assert_true(ty_access_table_tenant(table, "default", &tenant));
    assert_int_equal(tenant.row, fixture->tenant);
    assert_int_equal(tenant.quota.max_jobs, -1);
    assert_false(ty_access_table_has_admin(table));
    ty_access_table_destroy(table);
}

static ty_status close_policy(struct ty_writer *writer, void *context, struct ty_error *err)
{
    struct ty_tenant_record tenant;
    (void)context;
    ty_status status = ty_tenants_find(writer, "default", &tenant, err);
    tenant.policy = "{\"volumes\":[\"v-*\"]}";
    return status == TY_OK ? ty_tenants_save(writer, &tenant, err) : status;
}

static void a_policy_that_is_held_outlives_its_change(void **state)
{
    struct store_fixture *fixture = *state;
    struct ty_access_table *table = loaded(fixture, 10 * SECOND);
    struct ty_policy *open = ty_access_table_policy(table, "default");
    struct ty_error err;
    assert_null(ty_access_table_policy(table, "nobody"));
    assert_non_null(open);
    assert_int_equal(store_apply(fixture->store, close_policy, NULL, &err), TY_OK);
    assert_int_equal(ty_access_table_reload(table, fixture->reader, 11 * SECOND, &err), TY_OK);
    struct ty_policy *closed = ty_access_table_policy(table, "default");
    ty_access_table_destroy(table);
    assert_true(ty_policy_lists_volume(open, "any"));
    assert_true(ty_policy_lists_volume(closed, "v-1"));
    assert_false(ty_policy_lists_volume(closed, "any"));
    ty_policy_unref(open);
    ty_policy_unref(closed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_token_is_found_by_its_digest_until_it_expires,
                                        store_fixture_setup, store_fixture_teardown),
        cmocka_unit_test_setup_teardown(a_revoked_token_is_gone_after_the_reload,
                                        store_fixture_setup, store_fixture_teardown),
        cmocka_unit_test_setup_teardown(uses_are_taken_once_and_survive_a_reload,
                                        store_fixture_setup, store_fixture_teardown),
        cmocka_unit_test_setup_teardown(tenants_are_known_by_name, store_fixture_setup,
                                        store_fixture_teardown),
        cmocka_unit_test_setup_teardown(a_policy_that_is_held_outlives_its_change,
                                        store_fixture_setup, store_fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
