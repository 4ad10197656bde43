#include "trainyard/events/text.h"

#include "trainyard/base/str.h"

#include <stdio.h>
#include <string.h>

ty_status ty_event_filter_label(struct ty_event_filter *filter, const char *pair)
{
    size_t key_len = strcspn(pair, "=");
    size_t len = strlen(pair);
    if (pair[key_len] != '=' || filter->labels_count == TY_EVENT_LABELS_MAX ||
        len + sizeof "\"\":\"\"" > TY_EVENT_LABEL)
        return TY_INVALID;
    snprintf(filter->labels[filter->labels_count++], TY_EVENT_LABEL, "\"%.*s\":\"%s\"",
             (int)key_len, pair, pair + key_len + 1);
    return TY_OK;
}

static bool takes(const struct ty_event_filter *filter, ty_event_type type, const char *job_id,
                  const char *labels)
{
    if (filter->types != 0 && !(filter->types & ty_event_type_bit(type)))
        return false;
    if (filter->job_id[0] && !ty_str_equal(filter->job_id, job_id))
        return false;
    /* Labels hold no quotes, so a pair is found only as a whole. */
    for (size_t i = 0; i < filter->labels_count; i++)
        if (!strstr(labels, filter->labels[i]))
            return false;
    return true;
}

bool ty_event_filter_takes(const struct ty_event_filter *filter, const struct ty_event *event)
{
    bool of_job = event->job != 0;
    return !filter || takes(filter, event->type, of_job ? event->job_id : "",
                            of_job && event->labels ? event->labels : "{}");
}

bool ty_event_filter_takes_text(const struct ty_event_filter *filter,
                                const struct ty_event_text *text)
{
    return !filter || takes(filter, text->type, text->job_id, text->labels);
}
