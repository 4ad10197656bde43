/* Who asks, and may they. Runs on HTTP threads before the body is read: memory only. */
#include "api/api.h"

#include <strings.h>

/* "Bearer <token>" with the scheme in any case and blanks around (RFC 9110 11.1); NULL when it is
 * anything else. */
static const char *bearer_token(const char *field, char out[TY_TOKEN_TEXT])
{
    static const char scheme[] = "bearer";
    if (strncasecmp(field, scheme, sizeof scheme - 1) != 0 || field[sizeof scheme - 1] != ' ')
        return NULL;
    const char *start = field + sizeof scheme - 1 + strspn(field + sizeof scheme - 1, " ");
    size_t len = strcspn(start, " ");
    if (len != TY_TOKEN_TEXT - 1 || start[len + strspn(start + len, " ")] != '\0')
        return NULL;
    memcpy(out, start, len);
    out[len] = '\0';
    return out;
}

static ty_status reject(struct ty_error *err)
{
    return ty_fail_code(err, TY_UNAUTHENTICATED, "invalid_token", "the token is not valid");
}

static ty_status identify(struct ty_api *api, struct ty_request *request,
                          struct ty_principal *principal_out, struct ty_error *err)
{
    const char *field = ty_request_header(request, "Authorization");
    if (!field)
        return ty_fail(err, TY_UNAUTHENTICATED, "this needs a token: Authorization: Bearer ty_…");
    char token[TY_TOKEN_TEXT];
    uint8_t digest[TY_SHA256];
    if (!bearer_token(field, token) || !ty_token_well_formed(token))
        return reject(err);
    ty_status status = ty_tokens_digest(api->options.store, token, digest);
    ty_wipe(token, sizeof token);
    if (status != TY_OK)
        return ty_fail(err, status, "token digest");
    if (!ty_access_table_find(api->access, digest, api_now(api), principal_out))
        return reject(err);
    return TY_OK;
}

/* A system administrator may act in another tenant by naming it; for all others the name must be
 * their own. */
static ty_status choose_tenant(struct ty_api *api, struct ty_request *request,
                               struct ty_principal *principal, struct ty_error *err)
{
    const char *name = ty_request_header(request, "Trainyard-Tenant");
    if (!name || ty_str_equal(name, principal->tenant_name))
        return TY_OK;
    struct ty_access_tenant tenant;
    if (!(principal->scopes & TY_SCOPE_SYSTEM_ADMIN))
        return ty_fail_code(err, TY_FORBIDDEN, "insufficient_scope",
                            "this token acts in its own tenant only");
    if (!ty_access_table_tenant(api->access, name, &tenant))
        return ty_fail_code(err, TY_NOT_FOUND, "tenant_not_found", "no such tenant");
    principal->tenant = tenant.row;
    ty_str_copy(principal->tenant_name, sizeof principal->tenant_name, tenant.name);
    ty_str_copy(principal->namespace, sizeof principal->namespace, tenant.namespace);
    return TY_OK;
}

ty_status api_authenticate(void *context, struct ty_request *request, struct ty_error *err)
{
    struct ty_api *api = context;
    const struct ty_route *route = ty_request_route(request);
    if (ty_request_parameter(request, "access_token") || ty_request_parameter(request, "token"))
        return ty_fail_code(err, TY_INVALID, "token_in_query", "a token never belongs into a URL");
    struct api_session *session = ty_request_alloc(request, sizeof *session);
    if (!session)
        return ty_fail(err, TY_NO_MEMORY, "request");
    *session = (struct api_session){0};
    struct ty_principal *principal = &session->principal;
    if (identify(api, request, principal, err) != TY_OK)
        return err->status;
    if ((principal->scopes & route->scopes) != route->scopes)
        return ty_fail_code(err, TY_FORBIDDEN, "insufficient_scope",
                            "the token lacks a scope that this route needs");
    if (choose_tenant(api, request, principal, err) != TY_OK)
        return err->status;
    ty_request_set_principal(request, session, NULL);
    return TY_OK;
}

void api_scope_text(void *context, const struct ty_route *route, char *out, size_t size)
{
    (void)context;
    struct ty_buf text;
    ty_buf_init(&text, size - 1);
    for (uint64_t bit = 1; bit != 0 && bit <= TY_SCOPE_SYSTEM_ADMIN; bit <<= 1)
        if (route->scopes & bit)
            ty_buf_addf(&text, "%s%s", text.len > 0 ? " " : "", ty_scope_name(bit));
    ty_str_copy(out, size, text.data ? text.data : "");
    ty_buf_done(&text);
}
