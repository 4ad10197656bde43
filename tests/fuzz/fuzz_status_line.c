/* A line of status.jsonl, torn or tampered with. */
#include "executor/local/facts_read.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct ty_fact fact;
    struct ty_error err;
    if (ty_fact_read((const char *)bytes, len, 1, &fact, &err) != TY_OK)
        return 0;
    if (fact.seen.cause >= TY_CAUSE_COUNT || fact.seen.kind >= TY_SEEN_KIND_COUNT)
        abort();
    ty_fact_done(&fact);
    return 0;
}
