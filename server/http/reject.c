#include "reject.h"

#include "common_fields.h"
#include "trainyard/base/clock.h"

static const struct {
    int status;
    const char *phrase;
} phrases[] = {
    {400, "Bad Request"                    },
    {408, "Request Timeout"                },
    {413, "Content Too Large"              },
    {414, "URI Too Long"                   },
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"          },
    {501, "Not Implemented"                },
    {503, "Service Unavailable"            },
    {505, "HTTP Version Not Supported"     },
};

static const char *reason_phrase(int status)
{
    for (size_t i = 0; i < sizeof phrases / sizeof *phrases; i++)
        if (phrases[i].status == status)
            return phrases[i].phrase;
    return "";
}

void ty_reject_write(struct ty_buf *buf, const struct ty_problem_kind *kind, const char *detail,
                     const char *request_id, int64_t wall_us, bool head_only)
{
    ty_auto_buf body = {0};
    char date[TY_HTTP_DATE_TEXT];

    ty_buf_init(&body, 4096);
    ty_problem_write(&body, kind, detail, "/", request_id, NULL);
    ty_http_date_format(wall_us, date);
    ty_buf_addf(buf, "HTTP/1.1 %d %s\r\nDate: %s\r\nConnection: close\r\nRequest-Id: %s\r\n",
                kind->status, reason_phrase(kind->status), date, request_id);
    for (size_t i = 0; i < ty_common_field_count; i++)
        ty_buf_addf(buf, "%s: %s\r\n", ty_common_fields[i].name, ty_common_fields[i].value);
    if (kind->status == 503)
        ty_buf_adds(buf, "Retry-After: 1\r\n");
    ty_buf_addf(buf, "Content-Type: application/problem+json\r\nContent-Length: %zu\r\n\r\n",
                body.len);
    if (!head_only)
        ty_buf_add(buf, body.data, body.len);
}
