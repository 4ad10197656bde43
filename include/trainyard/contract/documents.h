/* What the contract looks like to clients: the document itself and the pages made from it when the
 * gateway was built. Everything is static and ready to send. */
#ifndef TRAINYARD_CONTRACT_DOCUMENTS_H
#define TRAINYARD_CONTRACT_DOCUMENTS_H

#include "trainyard/base/buf.h"

struct ty_document {
    const char *media_type; /* "application/json", "text/html; charset=utf-8", "text/css; …" */
    const char *bytes;      /* not NUL-ended */
    size_t len;
    size_t whole_len; /* 0: `bytes` are the document; else they are its gzip form, and this is its
                         own length */
    const char *etag; /* strong, quotes included; changes with every byte */
};

/* GET /openapi.json, compact. */
const struct ty_document *ty_contract_document(void);

/* What ty_contract_create takes at start: the same document without its words for people and
 * without the bodies of answers, a fraction of the size. It checks exactly what the whole one does.
 */
const struct ty_document *ty_contract_rules(void);

/* GET /docs/plain: one page without scripts. Needs "default-src 'none'; style-src 'self'". */
const struct ty_document *ty_contract_docs(void);

/* GET /docs: the page of the viewer, a script; NULL where the build had none. Needs scripts, styles
 * and connections of 'self' and images of data:. */
const struct ty_document *ty_contract_viewer(void);

/* GET /docs/assets/{asset}: a file that the viewer's page names, packed. A name holds the digest of
 * what it names, so that it never means anything else. NULL: there is no such file. */
const struct ty_document *ty_contract_viewer_asset(const char *name);

/* GET /docs/style.css, linked from the pages without scripts. */
const struct ty_document *ty_contract_style(void);

/* GET /docs/errors: the catalogue of problem codes as a page in the same manner, one heading with
 * the code as its id for each row. Failures are sticky in `page`. */
struct ty_document_problem {
    const char *code;
    int status;
    const char *title;
    const char *meaning;
};
void ty_contract_errors_page(struct ty_buf *page, const struct ty_document_problem *rows,
                             size_t count);

#endif
