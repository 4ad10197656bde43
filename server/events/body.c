/* Ready answers: immutable once made, counted, shared by every thread that sends them. */
#include "trainyard/events/hub.h"

#include <stdlib.h>
#include <string.h>

ty_status ty_job_body_create(const char *bytes, size_t len, struct ty_job_body **body_out)
{
    struct ty_job_body *body = calloc(1, sizeof(*body) + len + 1);
    if (!body)
        return TY_NO_MEMORY;
    body->refs = 1;
    body->len = len;
    if (len > 0)
        memcpy(body->bytes, bytes, len);
    *body_out = body;
    return TY_OK;
}

struct ty_job_body *ty_job_body_ref(struct ty_job_body *body)
{
    __atomic_fetch_add(&body->refs, 1, __ATOMIC_RELAXED);
    return body;
}

void ty_job_body_unref(struct ty_job_body *body)
{
    /* Acquire-release: whoever frees sees what every other holder did with the body. */
    if (body && __atomic_sub_fetch(&body->refs, 1, __ATOMIC_ACQ_REL) == 0)
        free(body);
}
