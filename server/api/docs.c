/* The contract and the pages made from it. */
#include "api/api.h"

#include "trainyard/contract/documents.h"
#include "trainyard/http/accept.h"
#include "trainyard/http/problem.h"

static const char plain_policy[] =
    "default-src 'none'; style-src 'self'; frame-ancestors 'none'; base-uri 'none'";

/* The viewer is a script, its icons are data, and it asks this gateway alone. */
static const char viewer_policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; "
    "form-action 'none'; frame-ancestors 'none'; base-uri 'none'";

/* A name with a digest in it may be kept for ever. */
static const char kept[] = "public, max-age=31536000, immutable";

static void answer_page(struct ty_request *request, struct ty_response *response, const char *etag,
                        const char *cache, const char *policy)
{
    ty_response_etag(response, etag);
    ty_response_header(response, "Cache-Control", cache);
    ty_response_header(response, "Content-Security-Policy", policy);
    ty_request_answer(request, response);
}

static struct ty_response *respond(const struct ty_document *document)
{
    void *bytes = (void *)(uintptr_t)document->bytes;
    if (document->whole_len > 0)
        return ty_response_packed(200, document->media_type, bytes, document->len,
                                  document->whole_len);
    return ty_response_bytes(200, document->media_type, bytes, document->len, NULL);
}

static void answer_document(struct ty_request *request, const struct ty_document *document,
                            const char *policy)
{
    answer_page(request, respond(document), document->etag, "no-cache", policy);
}

void openapi(void *context, struct ty_request *request)
{
    (void)context;
    answer_document(request, ty_contract_document(), plain_policy);
}

void docs_plain(void *context, struct ty_request *request)
{
    (void)context;
    answer_document(request, ty_contract_docs(), plain_policy);
}

void docs(void *context, struct ty_request *request)
{
    const struct ty_document *viewer = ty_contract_viewer();
    if (viewer)
        answer_document(request, viewer, viewer_policy);
    else
        docs_plain(context, request);
}

/* One of the route's media types pleases the client, and it may be another file's. */
static bool takes(struct ty_request *request, const struct ty_document *document)
{
    char type[64];
    const char *const offers[] = {type, NULL};
    snprintf(type, sizeof type, "%.*s", (int)strcspn(document->media_type, ";"),
             document->media_type);
    return ty_accept_choose(ty_request_header(request, "Accept"), offers) == 0;
}

void docs_asset(void *context, struct ty_request *request)
{
    (void)context;
    const struct ty_document *asset =
        ty_contract_viewer_asset(ty_request_variable(request, "asset"));
    if (!asset)
        ty_request_answer(request, ty_response_problem("not_found", NULL, NULL));
    else if (!takes(request, asset))
        ty_request_answer(request, ty_response_problem("not_acceptable", NULL, NULL));
    else
        answer_page(request, respond(asset), asset->etag, kept, plain_policy);
}

void docs_style(void *context, struct ty_request *request)
{
    (void)context;
    answer_document(request, ty_contract_style(), plain_policy);
}

/* The catalogue lives in the HTTP room, so this page is made when it is asked for. */
void docs_errors(void *context, struct ty_request *request)
{
    (void)context;
    size_t count;
    const struct ty_problem_kind *kinds = ty_problem_kinds(&count);
    struct ty_document_problem *rows = ty_request_alloc(request, count * sizeof *rows);
    char etag[TY_ETAG_TEXT];
    ty_auto_buf page = {0};
    ty_buf_init(&page, 1024 * 1024);
    for (size_t i = 0; rows && i < count; i++)
        rows[i] = (struct ty_document_problem){kinds[i].code, kinds[i].status, kinds[i].title,
                                               kinds[i].meaning};
    if (rows)
        ty_contract_errors_page(&page, rows, count);
    if (!rows || page.failed != TY_OK || ty_etag_of(page.data, page.len, etag) != TY_OK) {
        ty_request_answer(request, NULL);
        return;
    }
    answer_page(request, ty_response_buf(200, "text/html; charset=utf-8", &page), etag, "no-cache",
                plain_policy);
}
