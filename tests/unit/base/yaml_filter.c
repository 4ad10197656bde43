/* JSON on standard input becomes YAML on standard output: for check_yaml11.py. */
#include "trainyard/base/json.h"
#include "trainyard/base/scope.h"
#include "trainyard/base/yaml.h"

int main(void)
{
    ty_auto_json value = NULL;
    struct ty_error err;
    ty_auto_buf in = {0};
    ty_auto_buf out = {0};
    size_t got;
    char *room;

    ty_buf_init(&in, 4 << 20);
    ty_buf_init(&out, 16 << 20);
    while ((room = ty_buf_reserve(&in, 4096)) && (got = fread(room, 1, 4096, stdin)) > 0)
        ty_buf_grew(&in, got);
    if (in.failed || ty_json_parse(in.data, in.len, &value, &err))
        return 1;
    ty_yaml_write(&out, value);
    return out.failed || fwrite(out.data, 1, out.len, stdout) != out.len;
}
