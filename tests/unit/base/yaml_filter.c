/* JSON on standard input becomes YAML on standard output, for check_yaml11.py; with the argument
 * "read" a stream of YAML becomes a JSON array, or a line that says what is wrong: for .ci/yaml. */
#include "trainyard/base/json.h"
#include "trainyard/base/scope.h"
#include "trainyard/base/yaml.h"

static int read_yaml(const struct ty_buf *in)
{
    ty_auto_json documents = NULL;
    struct ty_error err;

    if (ty_yaml_parse_stream(in->data ? in->data : "", in->len, 64, &documents, &err)) {
        puts(err.text);
        return 1;
    }
    return json_dumpf(documents, stdout, JSON_COMPACT);
}

int main(int argc, char **argv)
{
    ty_auto_json value = NULL;
    struct ty_error err;
    ty_auto_buf in = {0};
    ty_auto_buf out = {0};
    size_t got;
    char *room;

    (void)argv;
    ty_buf_init(&in, 4 << 20);
    ty_buf_init(&out, 16 << 20);
    while ((room = ty_buf_reserve(&in, 4096)) && (got = fread(room, 1, 4096, stdin)) > 0)
        ty_buf_grew(&in, got);
    if (argc > 1 && !in.failed)
        return read_yaml(&in);
    if (in.failed || ty_json_parse(in.data, in.len, &value, &err))
        return 1;
    ty_yaml_write(&out, value);
    return out.failed || fwrite(out.data, 1, out.len, stdout) != out.len;
}
