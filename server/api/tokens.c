/* /v1/tokens: made, listed, rotated and revoked. A token's text is shown once and stored nowhere.
 */
#include "api/access.h"

#include "api/keys.h"

#include "trainyard/base/failpoint.h"
#include "trainyard/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>

enum { TOKEN_PATH = 64, DEFAULT_LIFE_SECONDS = 90 * 24 * 3600 };

static const struct {
    char kind;
    const char *name;
} kinds[] = {
    {'u', "user"   },
    {'s', "service"},
    {'a', "admin"  },
    {'j', "job"    }
};

static const char *kind_name(char kind)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (kinds[i].kind == kind)
            return kinds[i].name;
    return "user";
}

void write_scopes(struct ty_json_writer *writer, uint64_t scopes)
{
    ty_json_array(writer);
    for (uint64_t bit = 1; bit <= TY_SCOPE_SYSTEM_ADMIN; bit <<= 1)
        if (scopes & bit)
            ty_json_string(writer, ty_scope_name(bit));
    ty_json_end(writer);
}

static void token_etag(const struct ty_token_record *token, char out[API_ETAG])
{
    snprintf(out, API_ETAG, "\"t%" PRId64 "-%s-%" PRIx64 "\"", token->row, token->hint,
             (uint64_t)(token->revoked_at ^ token->last_used_at));
}

static void token_path(const char *id, char out[TOKEN_PATH])
{
    snprintf(out, TOKEN_PATH, "/v1/tokens/%s", id);
}

void write_token(struct ty_json_writer *writer, const struct ty_token_record *token,
                 const char *secret)
{
    char etag[API_ETAG];
    char path[TOKEN_PATH];
    token_etag(token, etag);
    token_path(token->id, path);
    ty_json_object(writer);
    ty_json_put_string(writer, "id", token->id);
    ty_json_put_string(writer, "name", token->name);
    ty_json_put_string(writer, "kind", kind_name(token->kind));
    ty_json_put_string(writer, "role", ty_role_name(token->role));
    ty_json_key(writer, "scopes");
    write_scopes(writer, token->scopes);
    ty_json_put_string(writer, "tenant", token->tenant_name);
    ty_json_put_string(writer, "hint", token->hint);
    ty_json_put_time(writer, "created_at", token->created_at);
    ty_json_put_string(writer, "created_by", token->created_by);
    ty_json_put_time(writer, "expires_at", token->expires_at);
    ty_json_put_time(writer, "last_used_at", token->last_used_at);
    if (secret)
        ty_json_put_string(writer, "token", secret);
    api_end_object(writer, etag, path);
}

ty_status reload_access(struct ty_api *api, struct ty_request *request, struct ty_error *err)
{
    return ty_access_table_reload(api->access, api_reader(api, request), api_now(api), err);
}

/* --- GET --- */

struct one_token {
    struct ty_buf body;
    const char *secret;
    char etag[API_ETAG];
    bool revoked;
};

static bool visit_one(void *context, const struct ty_token_record *token)
{
    struct one_token *one = context;
    struct ty_json_writer writer;
    one->revoked = token->revoked_at != 0;
    ty_json_writer_init(&writer, &one->body);
    write_token(&writer, token, one->secret);
    token_etag(token, one->etag);
    return false;
}

/* A revoked token is gone for its readers; `secret` is the text of a fresh one. */
static void answer_token(struct ty_api *api, struct ty_request *request, const char *id,
                         const char *secret, int status)
{
    struct one_token one = {.secret = secret};
    struct ty_error err;
    char path[TOKEN_PATH];
    ty_auto_buf body = {0};
    ty_buf_init(&one.body, 64 * 1024);
    ty_status found = ty_tokens_get(api_reader(api, request), api_caller(request)->tenant, id,
                                    visit_one, &one, &err);
    body = one.body;
    if (found == TY_OK && one.revoked)
        found = ty_fail(&err, TY_NOT_FOUND, "no such token");
    if (found != TY_OK) {
        api_answer_error(request, &err);
        return;
    }
    token_path(id, path);
    struct ty_response *response = api_object(status, &body, one.etag, status == 201 ? path : NULL);
    ty_response_compress(response, secret == NULL);
    ty_request_answer(request, response);
}

void tokens_get(void *context, struct ty_request *request)
{
    answer_token(context, request, ty_request_variable(request, "token_id"), NULL, 200);
}

static bool visit_item(void *context, const struct ty_token_record *token)
{
    struct api_page *page = context;
    if (api_page_full(page))
        return false;
    page->next.row = token->row;
    if (token->revoked_at == 0) {
        write_token(&page->writer, token, NULL);
        page->count++;
    }
    return true;
}

void tokens_list(void *context, struct ty_request *request)
{
    struct ty_api *api = context;
    struct api_page page = {.limit = api_limit(request)};
    struct ty_cursor cursor;
    struct ty_error err;
    ty_auto_buf body = {0};
    api_begin_page(&page.writer, &body);
    /* Revoked ones are skipped, so more rows than `limit` may have to be walked. */
    if (api_cursor(api, request, "tokens", &cursor, &err) != TY_OK ||
        ty_tokens_list(api_reader(api, request), api_caller(request)->tenant, cursor.row,
                       SIZE_MAX / 2, visit_item, &page, &err) != TY_OK) {
        api_answer_error(request, &err);
        return;
    }
    api_answer_page(api, request, &page.writer, "tokens", api_page_next(&page));
}

/* --- POST --- */

struct token_insert {
    struct ty_write write; /* first */
    struct ty_token_record token;
    uint8_t digest[TY_SHA256];
    struct api_key key;
};

/* A repeat cannot be answered with the token again: its text is stored nowhere. */
static ty_status refuse_repeat(const struct api_key *key, struct ty_error *err)
{
    return ty_fail_code(err, TY_CONFLICT, "token_shown_once",
                        "this key made the text of %s already, and it was shown once: rotate it",
                        key->resource);
}

static ty_status apply_insert(struct ty_writer *writer, struct ty_write *write,
                              struct ty_error *err)
{
    struct token_insert *insert = (struct token_insert *)write;
    const struct ty_token_record *token = &insert->token;
    ty_status status =
        api_key_claim(writer, &insert->key, token->tenant, token->id, token->created_at, err);
    if (status != TY_OK)
        return status;
    if (insert->key.replayed)
        return refuse_repeat(&insert->key, err);
    return ty_tokens_insert(writer, &insert->token, insert->digest, err);
}

/* Make a text of the token's kind, its digest and its hint. */
static ty_status make_secret(struct ty_api *api, char kind, char secret[TY_TOKEN_TEXT],
                             uint8_t digest[TY_SHA256], char hint[TY_TOKEN_HINT],
                             struct ty_error *err)
{
    ty_token_make(api->options.random, kind, secret);
    ty_str_copy(hint, TY_TOKEN_HINT, secret + strlen(secret) - (TY_TOKEN_HINT - 1));
    ty_status status = ty_tokens_digest(api->options.store, secret, digest);
    return status == TY_OK ? TY_OK : ty_fail(err, status, "token");
}

static ty_status read_scopes(const json_t *list, uint64_t *scopes, struct ty_faults *faults)
{
    if (!list)
        return TY_OK;
    uint64_t wanted = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        uint64_t bit = 0;
        char pointer[32];
        snprintf(pointer, sizeof pointer, "/scopes/%zu", i);
        if (ty_scope_parse(json_string_value(json_array_get(list, i)), &bit) != TY_OK ||
            !(*scopes & bit))
            ty_faults_add(faults, TY_AT_POINTER, pointer, "not_allowed",
                          "the role does not have this scope");
        wanted |= bit;
    }
    *scopes = wanted;
    return ty_faults_any(faults) ? TY_REFUSED : TY_OK;
}

static int64_t read_life(const json_t *body)
{
    const json_t *given = json_object_get(body, "expires_in_seconds");
    return (given ? json_integer_value(given) : DEFAULT_LIFE_SECONDS) * 1000000;
}

/* A token can only make subsets of itself (T4), and none that outlives it. */
static ty_status read_rights(struct ty_request *request, const json_t *body,
                             struct ty_token_record *token, struct ty_faults *faults,
                             struct ty_error *err)
{
    const struct ty_principal *caller = api_caller(request);
    const char *role = json_string_value(json_object_get(body, "role"));
    const char *kind = json_string_value(json_object_get(body, "kind"));
    token->role = TY_ROLE_SUBMITTER;
    if (role && ty_role_parse(role, &token->role) != TY_OK)
        ty_faults_add(faults, TY_AT_POINTER, "/role", "not_in_enum", "no such role");
    token->scopes = ty_role_scopes(token->role);
    token->kind = token->role == TY_ROLE_SYSTEM_ADMIN     ? 'a'
                  : kind && ty_str_equal(kind, "service") ? 's'
                                                          : 'u';
    if (read_scopes(json_object_get(body, "scopes"), &token->scopes, faults) != TY_OK)
        return ty_fail_code(err, TY_REFUSED, "validation_failed", "some scopes are not allowed");
    if (token->scopes & ~caller->scopes)
        return ty_fail_code(err, TY_FORBIDDEN, "insufficient_scope",
                            "a token can only make tokens within its own scopes");
    if (caller->expires_at != 0 && token->expires_at > caller->expires_at)
        token->expires_at = caller->expires_at;
    return TY_OK;
}

static void answer_new_token(struct ty_api *api, struct ty_request *request, const char *id,
                             char secret[TY_TOKEN_TEXT], int status)
{
    struct ty_error err;
    if (reload_access(api, request, &err) != TY_OK)
        api_answer_error(request, &err);
    else
        answer_token(api, request, id, secret, status);
    ty_wipe(secret, TY_TOKEN_TEXT);
}

void tokens_create(void *context, struct ty_request *request)
{
    struct ty_api *api = context;
    const struct ty_principal *caller = api_caller(request);
    const json_t *body = ty_request_json(request);
    struct ty_faults faults;
    struct ty_error err;
    char id[TY_ID_TEXT];
    char secret[TY_TOKEN_TEXT];
    struct token_insert insert = {
        .write = {.apply = apply_insert                       },
        .token = { .tenant = caller->tenant,
                  .id = id,
                  .name = json_string_value(json_object_get(body, "name")),
                  .created_at = api_now(api),
                  .created_by = caller->token_id,
                  .expires_at = api_now(api) + read_life(body)}
    };
    ty_faults_init(&faults);
    ty_id_make(api->options.random, api_now(api), "tok_", id);
    if (api_key_read(request, "POST /v1/tokens", &insert.key, &err) != TY_OK ||
        read_rights(request, body, &insert.token, &faults, &err) != TY_OK ||
        make_secret(api, insert.token.kind, secret, insert.digest, insert.token.hint, &err) !=
            TY_OK ||
        ty_store_write_wait(api->options.store, &insert.write, &err) != TY_OK) {
        api_answer_faults(request, &err, &faults);
        return;
    }
    answer_new_token(api, request, id, secret, 201);
}

/* --- rotate --- */

struct token_rotate {
    struct ty_write write; /* first */
    struct ty_token_rotation rotation;
    uint8_t digest[TY_SHA256];
    char hint[TY_TOKEN_HINT];
    struct api_key key;
};

static ty_status apply_rotate(struct ty_writer *writer, struct ty_write *write,
                              struct ty_error *err)
{
    struct token_rotate *rotate = (struct token_rotate *)write;
    const struct ty_token_rotation *rotation = &rotate->rotation;
    ty_status status =
        api_key_claim(writer, &rotate->key, rotation->tenant, rotation->id, rotation->now, err);
    if (status != TY_OK)
        return status;
    if (rotate->key.replayed)
        return refuse_repeat(&rotate->key, err);
    return ty_tokens_rotate(writer, rotation, err);
}

struct token_look {
    char kind;
    uint64_t scopes;
    bool revoked;
};

static bool look_at_token(void *context, const struct ty_token_record *token)
{
    *(struct token_look *)context =
        (struct token_look){token->kind, token->scopes, token->revoked_at != 0};
    return false;
}

/* The token to be rotated or revoked must not be mightier than the caller. */
static ty_status find_token(struct ty_api *api, struct ty_request *request, struct token_look *look,
                            struct ty_error *err)
{
    const struct ty_principal *caller = api_caller(request);
    if (ty_tokens_get(api_reader(api, request), caller->tenant,
                      ty_request_variable(request, "token_id"), look_at_token, look, err) != TY_OK)
        return err->status;
    if (look->revoked)
        return ty_fail(err, TY_NOT_FOUND, "no such token");
    if (look->scopes & ~caller->scopes)
        return ty_fail_code(err, TY_FORBIDDEN, "insufficient_scope",
                            "this token has scopes that yours lacks");
    return TY_OK;
}

void tokens_rotate(void *context, struct ty_request *request)
{
    struct ty_api *api = context;
    struct token_rotate rotate = {.write = {.apply = apply_rotate}};
    struct token_look look = {0};
    struct ty_error err;
    char secret[TY_TOKEN_TEXT];
    if (find_token(api, request, &look, &err) != TY_OK ||
        api_key_read(request, ty_request_path(request), &rotate.key, &err) != TY_OK ||
        make_secret(api, look.kind, secret, rotate.digest, rotate.hint, &err) != TY_OK) {
        api_answer_error(request, &err);
        return;
    }
    const json_t *overlap = json_object_get(ty_request_json(request), "overlap_seconds");
    rotate.rotation = (struct ty_token_rotation){.tenant = api_caller(request)->tenant,
                                                 .id = ty_request_variable(request, "token_id"),
                                                 .hint = rotate.hint,
                                                 .digest = rotate.digest,
                                                 .now = api_now(api),
                                                 .grace_us = json_integer_value(overlap) * 1000000};
    if (ty_store_write_wait(api->options.store, &rotate.write, &err) != TY_OK)
        api_answer_error(request, &err);
    else
        answer_new_token(api, request, rotate.rotation.id, secret, 200);
}

/* --- DELETE --- */

struct token_revoke {
    struct ty_write write; /* first */
    struct ty_request *request;
    int64_t tenant;
    const char *id;
    int64_t now;
};

static ty_status apply_revoke(struct ty_writer *writer, struct ty_write *write,
                              struct ty_error *err)
{
    struct token_revoke *revoke = (struct token_revoke *)write;
    struct ty_token_record token;
    char etag[API_ETAG];
    if (ty_tokens_find(writer, revoke->tenant, revoke->id, &token, err) != TY_OK)
        return err->status;
    token_etag(&token, etag);
    if (ty_precondition_check(revoke->request, etag, err) != TY_OK)
        return err->status;
    return ty_tokens_revoke(writer, revoke->tenant, revoke->id, revoke->now, err);
}

void tokens_delete(void *context, struct ty_request *request)
{
    struct ty_api *api = context;
    struct token_look look = {0};
    struct ty_error err;
    struct token_revoke revoke = {.write = {.apply = apply_revoke},
                                  .request = request,
                                  .tenant = api_caller(request)->tenant,
                                  .id = ty_request_variable(request, "token_id"),
                                  .now = api_now(api)};
    ty_status status = find_token(api, request, &look, &err);
    if (status == TY_OK)
        status = ty_store_write_wait(api->options.store, &revoke.write, &err);
    if (status == TY_OK)
        status = reload_access(api, request, &err);
    if (status == TY_OK)
        api_streams_tick(api, true);
    api_answer_deletion(request, status, &err);
}

/* --- the first start --- */

/* The file is written before the token becomes valid: a crash in between leaves a file that opens
 * nothing and is replaced at the next start, never a token that nobody knows. */
static ty_status write_token_file(struct ty_api *api, const char *secret, struct ty_error *err)
{
    char line[TY_TOKEN_TEXT + 1];
    ty_auto_fd folder = open(api->options.data_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return ty_fail_errno(err, errno, "open the data folder");
    int len = snprintf(line, sizeof line, "%s\n", secret);
    ty_status status = ty_file_write(folder, "admin.token", line, (size_t)len, 0600, err);
    ty_wipe(line, sizeof line);
    return status;
}

ty_status ty_api_first_token(struct ty_api *api, bool *made_out, struct ty_error *err)
{
    struct ty_access_tenant tenant;
    char id[TY_ID_TEXT];
    char secret[TY_TOKEN_TEXT];
    if (ty_access_table_has_admin(api->access)) {
        *made_out = false;
        return TY_OK;
    }
    if (!ty_access_table_tenant(api->access, TY_TENANT_DEFAULT, &tenant))
        return ty_fail(err, TY_INTERNAL, "the default tenant is missing");
    ty_id_make(api->options.random, api_now(api), "tok_", id);
    struct token_insert insert = {
        .write = {.apply = apply_insert     },
        .token = { .tenant = tenant.row,
                  .id = id,
                  .name = "first start",
                  .kind = 'a',
                  .role = TY_ROLE_SYSTEM_ADMIN,
                  .scopes = ty_role_scopes(TY_ROLE_SYSTEM_ADMIN),
                  .created_at = api_now(api)}
    };
    ty_status status = make_secret(api, 'a', secret, insert.digest, insert.token.hint, err);
    ty_failpoint("start.before_token_file");
    if (status == TY_OK)
        status = write_token_file(api, secret, err);
    ty_failpoint("start.after_token_file");
    ty_wipe(secret, sizeof secret);
    if (status != TY_OK || ty_store_write_wait(api->options.store, &insert.write, err) != TY_OK)
        return err->status;
    ty_failpoint("start.after_token");
    if (ty_access_table_reload(api->access, api->readers[0], api_now(api), err) != TY_OK)
        return err->status;
    *made_out = true;
    return TY_OK;
}
