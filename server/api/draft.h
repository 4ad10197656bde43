/* A job on its way into the store: one body judged, named and rendered, with everything its row
 * borrows. */
#ifndef TRAINYARD_API_DRAFT_H
#define TRAINYARD_API_DRAFT_H

#include "api/policy.h"

struct api_draft {
    struct ty_submit submit; /* first: the engine's callback finds the draft by it */
    struct ty_api *api;
    struct ty_request *request; /* who waits for the answer */
    void *owner;                /* the batch this draft belongs to, or NULL */
    size_t index;               /* its place in the batch */
    struct api_session session; /* a copy: the request may be answered before the draft is freed */
    struct api_policy policy;   /* of the tenant, while the body is judged */
    json_t *body;               /* what is run: as given, or as the policy makes it */
    struct ty_job_spec *spec;
    char *spec_text;
    char *labels;
    char *warnings;
    char *changes; /* how the body differs from the origin's, NULL without one */
    char **claims;
    struct ty_volume_record *made_claims; /* that the job makes by name; texts of the spec */
    char id[TY_ID_TEXT];
    char object_name[TY_OBJECT_NAME];
    char origin_id[TY_ID_TEXT];
    char idempotency_key[256]; /* API_KEY_TEXT */
    char route[64];
};

/* What a draft is made from. `body` is borrowed, and so is the JSON text it was parsed from, NULL
 * when there is none; `origin_id` NULL unless restarted or cloned ("restart", "clone"). */
struct api_draft_input {
    const json_t *body;
    const char *text;
    size_t text_len;
    const json_t *warnings; /* of the body's import, which come first; NULL: none */
    const json_t *asked; /* what the idempotency key stands for: the body, or a copy's patch (NULL =
                          * none), because an elastic origin may be scaled between two requests */
    const char *origin_id;
    const char *origin_kind;
    const json_t *origin_spec; /* what the origin ran, borrowed */
    const char *route;         /* for the idempotency key: "POST /v1/jobs" */
    bool use_idempotency_key;
    bool memory_only; /* on an HTTP thread: the database may not be asked (api_policy_asks) */
};

/* Judge and prepare. On failure nothing is left and faults or *err say why; TY_REFUSED has faults.
 * The caller frees the draft unless it was handed to the engine, whose answer frees it. */
ty_status api_draft_create(struct ty_api *api, struct ty_request *request,
                           const struct api_draft_input *input, struct api_draft **draft_out,
                           struct ty_faults *faults, struct ty_error *err) TY_MUST_CHECK;
void api_draft_destroy(struct api_draft *draft); /* takes NULL */

/* Another id and object name, after the first met one that was taken. */
ty_status api_draft_rename(struct api_draft *draft, struct ty_error *err) TY_MUST_CHECK;

/* Hand the draft to the engine; the request is answered with 201 and the job, or with what went
 * wrong. */
void api_draft_submit(struct api_draft *draft);

/* The job that an earlier request with this draft's key made, as it was when it had just been
 * accepted, appended to `body` as JSON. On a pool thread. TY_GONE (code "job_deleted"). */
ty_status api_draft_replay(struct api_draft *draft, struct ty_reader *reader, struct ty_buf *body,
                           struct ty_error *err) TY_MUST_CHECK;

/* The objects of a spec: for dry runs and /manifest. */
ty_status api_render(const struct ty_api *api, const struct ty_render_input *input,
                     struct ty_manifest *manifest_out, struct ty_faults *faults,
                     struct ty_error *err) TY_MUST_CHECK;

/* The same of a draft. */
ty_status api_draft_render(const struct api_draft *draft, struct ty_manifest *manifest_out,
                           struct ty_faults *faults, struct ty_error *err) TY_MUST_CHECK;

/* Append `manifest` as a Kubernetes List. */
void api_write_manifest(struct ty_json_writer *writer, const struct ty_manifest *manifest);

#endif
