/* Any text into the readers of times: no crash, and what they accept reads back from its canonical
 * form. */
#include "trainyard/base/clock.h"
#include "trainyard/base/str.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[128];
    char canonical[TY_TIME_TEXT];
    char http_date[TY_HTTP_DATE_TEXT];
    int64_t us;
    int64_t back;

    if (size >= sizeof(text))
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    if (ty_time_parse(text, &us) == TY_OK) {
        ty_time_format(us, canonical);
        if (ty_time_parse(canonical, &back) || back != us)
            abort();
    }
    if (ty_http_date_parse(text, &us) == TY_OK) {
        ty_http_date_format(us, http_date);
        if (ty_http_date_parse(http_date, &back) || back != us)
            abort();
    }
    return 0;
}
