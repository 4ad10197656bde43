/* Speaking HTTP to the gateway, with the retries of the client contract (H27). */
#ifndef TRAINYARD_CLI_HTTP_H
#define TRAINYARD_CLI_HTTP_H

#include "cli.h"

#include "trainyard/base/random.h"

enum { HTTP_TRIES = 6 }; /* of one call */

struct http_answer {
    long status; /* 0: no answer */
    struct ty_buf body;
    char etag[128];
    char digest[96]; /* Repr-Digest */
    char events_after[64];
    int64_t log_offset;  /* Log-Offset, -1 when absent */
    int64_t length;      /* Content-Length, -1 when absent */
    int64_t retry_after; /* seconds, 0 when absent */
    int64_t range_start; /* of Content-Range, -1 when absent */
    int64_t total;       /* of Content-Range, -1 when absent */
};

struct http_request {
    const char *method;
    const char *path; /* with the query, encoded */
    const char *body; /* NULL = none */
    size_t body_len;
    const char *type;   /* of the body, NULL = application/json */
    const char *accept; /* NULL = application/json */
    const char *key;    /* Idempotency-Key: makes a POST repeatable */
    const char *range;  /* "bytes=5-" with if_range, or NULL */
    const char *if_range;
    const char *if_none_match;
    int64_t timeout_s; /* of the whole call, 0 = 90; -1 = none (streams) */
    bool quiet;        /* say nothing when the gateway cannot be reached or cannot answer now */
    bool once;         /* do not try again */
};

/* Call until an answer comes that is worth keeping: connection failures, 408, 429, 502, 503 and 504
 * are tried again for requests that may be repeated, up to 6 times and 120 s. The caller frees
 * answer->body. Returns an exit code; for anything but 2xx and 3xx the problem was printed. */
int http_call(const struct cli *cli, const struct http_request *request,
              struct http_answer *answer);

/* Call and parse the JSON answer; *json_out (may be NULL) is a new reference. */
int http_json(const struct cli *cli, const struct http_request *request, json_t **json_out);
int http_get(const struct cli *cli, const char *path, json_t **json_out);

/* Send a JSON body (NULL = none) by POST or PATCH; a POST gets a key when `key` is NULL. */
int http_send(const struct cli *cli, const char *method, const char *path, const json_t *body,
              const char *key, json_t **json_out);

/* Delete what `path` names; --allow-missing is passed on. */
int http_delete(const struct cli *cli, struct ty_buf *path, json_t **json_out);

/* Stream an answer's body as it comes. `sink` returns false to stop. One try; `status_out` 0 when
 * it broke off. The head of the answer is in *answer before the first byte is given. */
typedef bool http_sink(void *context, const struct http_answer *answer, const char *bytes,
                       size_t len);
int http_stream(const struct cli *cli, const struct http_request *request, http_sink *sink,
                void *context, struct http_answer *answer, bool *complete_out);

/* Whether another try may help: no answer, one that broke off, or one of the passing statuses. */
bool http_is_passing(long status);

/* The passing statuses alone: 408, 429, 502, 503, 504. */
bool http_is_busy(long status);

/* What an error status means for the exit code. */
int http_exit_code(long status);

/* Full jitter: up to 0.5 s doubled with each try, at most 30 s, and at least `retry_after` s. */
int64_t http_pause_ms(const struct ty_random *random, unsigned try, int64_t retry_after);
void http_sleep_ms(int64_t ms);

/* Take one header line into the answer. */
void http_read_head(struct http_answer *answer, const char *line);

/* Append `text` percent-encoded for a query value or one path segment; or for a whole path, whose
 * slashes stay. */
void http_encode(struct ty_buf *out, const char *text);
void http_encode_path(struct ty_buf *out, const char *text);

/* Append "?name=value" or "&name=value", the value encoded. */
void http_add_query(struct ty_buf *path, const char *name, const char *value);
void http_add_query_int(struct ty_buf *path, const char *name, int64_t value);

/* A fresh key for one logical call. */
enum { HTTP_KEY = 40 };
void http_key(char out[HTTP_KEY]);

#endif
