/* An event's id as a client sends it: whatever it is, it is refused, or read as what it was made
 * of. */
#include "trainyard/base/scope.h"
#include "trainyard/events/text.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t key[TY_SHA256] = {7};
    struct ty_event_filter filter = {0};
    char made[TY_EVENT_ID];
    int64_t sequence = -1;
    ty_auto_free char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    if (ty_event_id_read(key, 1, text, &sequence) == TY_OK &&
        (ty_event_id_make(key, 1, sequence, made) != TY_OK || strcmp(made, text) != 0))
        abort();
    if (ty_event_filter_label(&filter, text) != TY_OK && filter.labels_count != 0)
        abort();
    return 0;
}
