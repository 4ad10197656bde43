/* Any bytes into the YAML parser: no crash, and parse(write(x)) is x. */
#include "trainyard/base/scope.h"
#include "trainyard/base/yaml.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Writing what aliases expanded to can take far more room than the input: then there is nothing to
 * compare. */
static void check_round_trip(const json_t *value)
{
    ty_auto_json back = NULL;
    struct ty_error err;
    ty_auto_buf text = {0};

    ty_buf_init(&text, 1 << 20);
    ty_yaml_write(&text, value);
    if (text.failed)
        return;
    if (ty_yaml_parse(text.data, text.len, &back, &err) || !json_equal(value, back))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ty_auto_json documents = NULL;
    struct ty_error err = {0};

    if (ty_yaml_parse_stream((const char *)data, size, 8, &documents, &err)) {
        if (err.status != TY_INVALID || err.text[0] == '\0')
            abort();
        return 0;
    }
    for (size_t i = 0; i < json_array_size(documents); i++)
        check_round_trip(json_array_get(documents, i));
    return 0;
}
