/* The contract and the pages made from it. */
#include "api/api.h"

#include "trainyard/contract/documents.h"
#include "trainyard/http/accept.h"
#include "trainyard/http/problem.h"

#include <stdatomic.h>
#include <stdlib.h>

static const char plain_policy[] =
    "default-src 'none'; style-src 'self'; frame-ancestors 'none'; base-uri 'none'";

/* The viewer is a script, its icons are data, and it asks this gateway alone. */
static const char viewer_policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; "
    "form-action 'none'; frame-ancestors 'none'; base-uri 'none'";

/* A name with a digest in it may be kept for ever. */
static const char kept[] = "public, max-age=31536000, immutable";

static void add_rules(struct ty_response *response, const char *cache, const char *policy)
{
    ty_response_header(response, "Cache-Control", cache);
    ty_response_header(response, "Content-Security-Policy", policy);
}

/* --- the pages without scripts: kept once asked for, so that each is packed once --- */

typedef enum { PAGE_CONTRACT, PAGE_PLAIN, PAGE_STYLE, PAGE_ERRORS, PAGE_COUNT } page_name;

/* Any thread. */
struct pages {
    _Atomic(struct ty_body *) bodies[PAGE_COUNT]; /* NULL until first wanted */
};

struct pages *pages_create(void)
{
    return calloc(1, sizeof(struct pages));
}

void pages_destroy(struct pages *pages)
{
    for (size_t i = 0; pages && i < PAGE_COUNT; i++)
        ty_body_unref(atomic_load(&pages->bodies[i]));
    free(pages);
}

/* The catalogue of problems lives in the HTTP room, so this page is not made with the others. */
static struct ty_body *make_errors(void)
{
    size_t count;
    const struct ty_problem_kind *kinds = ty_problem_kinds(&count);
    ty_auto_free struct ty_document_problem *rows = calloc(count, sizeof *rows);
    char etag[TY_ETAG_TEXT];
    ty_auto_buf page = {0};
    ty_buf_init(&page, 1024 * 1024);
    for (size_t i = 0; rows && i < count; i++)
        rows[i] = (struct ty_document_problem){kinds[i].code, kinds[i].status, kinds[i].title,
                                               kinds[i].meaning};
    if (rows)
        ty_contract_errors_page(&page, rows, count);
    if (!rows || page.failed != TY_OK || ty_etag_of(page.data, page.len, etag) != TY_OK)
        return NULL;
    return ty_body_create("text/html; charset=utf-8", etag, page.data, page.len);
}

static struct ty_body *make_page(page_name name)
{
    static const struct ty_document *(*const documents[])(void) = {
        [PAGE_CONTRACT] = ty_contract_document,
        [PAGE_PLAIN] = ty_contract_docs,
        [PAGE_STYLE] = ty_contract_style,
    };
    if (name == PAGE_ERRORS)
        return make_errors();
    const struct ty_document *document = documents[name]();
    return ty_body_create(document->media_type, document->etag, document->bytes, document->len);
}

/* NULL: no memory. */
static struct ty_body *find_page(struct pages *pages, page_name name)
{
    struct ty_body *page = atomic_load(&pages->bodies[name]);
    struct ty_body *none = NULL;
    if (page)
        return page;
    page = make_page(name);
    if (page && !atomic_compare_exchange_strong(&pages->bodies[name], &none, page)) {
        ty_body_unref(page); /* another thread was first */
        page = none;
    }
    return page;
}

static void answer_plain(struct ty_api *api, struct ty_request *request, page_name name)
{
    struct ty_body *page = find_page(api->pages, name);
    struct ty_response *response = page ? ty_response_body(200, page) : NULL;
    add_rules(response, "no-cache", plain_policy);
    ty_request_answer(request, response);
}

void openapi(void *context, struct ty_request *request)
{
    answer_plain(context, request, PAGE_CONTRACT);
}

void docs_plain(void *context, struct ty_request *request)
{
    answer_plain(context, request, PAGE_PLAIN);
}

void docs_style(void *context, struct ty_request *request)
{
    answer_plain(context, request, PAGE_STYLE);
}

void docs_errors(void *context, struct ty_request *request)
{
    answer_plain(context, request, PAGE_ERRORS);
}

/* --- the viewer --- */

static void answer_document(struct ty_request *request, const struct ty_document *document,
                            const char *cache, const char *policy)
{
    void *bytes = (void *)(uintptr_t)document->bytes;
    struct ty_response *response =
        document->whole_len > 0
            ? ty_response_packed(200, document->media_type, bytes, document->len,
                                 document->whole_len)
            : ty_response_bytes(200, document->media_type, bytes, document->len, NULL);
    ty_response_etag(response, document->etag);
    add_rules(response, cache, policy);
    ty_request_answer(request, response);
}

void docs(void *context, struct ty_request *request)
{
    const struct ty_document *viewer = ty_contract_viewer();
    if (viewer)
        answer_document(request, viewer, "no-cache", viewer_policy);
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
        answer_document(request, asset, kept, plain_policy);
}
