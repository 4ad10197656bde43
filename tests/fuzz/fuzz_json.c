/* Any bytes into the JSON parser: no crash, what it accepts survives a round trip
 * through both writers and without its blanks. */
#include "trainyard/base/json.h"
#include "trainyard/base/scope.h"
#include "trainyard/base/yaml.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ty_auto_json value = NULL;
    ty_auto_json from_json = NULL;
    ty_auto_json from_yaml = NULL;
    ty_auto_json from_compact = NULL;
    struct ty_json_writer writer;
    struct ty_error err = {0};
    ty_auto_buf text = {0};

    ty_buf_init(&text, 64 * size + 1000);
    if (ty_json_parse((const char *)data, size, &value, &err)) {
        if (err.status != TY_INVALID || err.code[0] == '\0' || err.text[0] == '\0')
            abort();
        return 0;
    }
    ty_json_compact(&text, (const char *)data, size);
    if (text.failed || text.len > size || ty_json_parse(text.data, text.len, &from_compact, &err) ||
        !json_equal(value, from_compact))
        abort();
    ty_buf_clear(&text);
    ty_json_writer_init(&writer, &text);
    ty_json_value(&writer, value);
    if (text.failed || ty_json_parse(text.data, text.len, &from_json, &err) ||
        !json_equal(value, from_json))
        abort();
    ty_buf_clear(&text);
    ty_yaml_write(&text, value);
    if (text.failed || ty_yaml_parse(text.data, text.len, &from_yaml, &err) ||
        !json_equal(value, from_yaml))
        abort();
    return 0;
}
