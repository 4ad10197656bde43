/* What runs: a script with its files, or a command. */
#include "spec_parts.h"

#include "trainyard/base/digest.h"
#include "trainyard/base/str.h"

#include <ctype.h>
#include <stdlib.h>

enum { FILES_MAX = 100, TEXTS_MAX = 256, TEXT_BYTES = 32768, KEY_BYTES = 253 };

/* --- script --- */

struct raw_script {
    const char *name;
    const char *content;
};

static const struct ty_field script_fields[] = {
    {"name",    TY_FIELD_BORROWED, offsetof(struct raw_script, name),    1, 0, NULL},
    {"content", TY_FIELD_BORROWED, offsetof(struct raw_script, content), 1, 0, NULL},
};

/* The characters of a ConfigMap key. */
static bool key_characters(const char *text)
{
    for (; *text; text++)
        if (!isalnum((unsigned char)*text) && !strchr("-._", *text))
            return false;
    return true;
}

static void read_script(struct ty_spec_reader *reader, const json_t *value,
                        struct ty_job_spec *spec)
{
    struct raw_script raw = {.name = "train.py"};

    if (json_is_object(value)) {
        ty_spec_read_fields(reader, value, script_fields, 2, &raw);
        if (!json_object_get(value, "content"))
            ty_spec_fault_in(reader, "content", "required", "is missing");
    } else {
        raw.content = ty_spec_text(reader, value);
        if (raw.content && raw.content[0] == '\0')
            ty_spec_fault(reader, "too_short", "must not be empty");
    }
    if (raw.name[0] == '.' || raw.name[0] == '-' || strlen(raw.name) > KEY_BYTES ||
        !key_characters(raw.name))
        ty_spec_fault_in(reader, "name", "file_name_invalid",
                         "must be letters, digits, . _ and -, not beginning with . or -");
    spec->script_name = ty_spec_dup(reader, raw.name);
    spec->script = ty_spec_dup(reader, raw.content);
    spec->script_len = raw.content ? strlen(raw.content) : 0;
}

/* --- files --- */

struct raw_file {
    const char *path;
    const json_t *content;
    int32_t encoding;
};

static const char *const encodings[] = {"utf-8", "base64", NULL};

static const struct ty_field file_fields[] = {
    {"path",     TY_FIELD_BORROWED, offsetof(struct raw_file, path),     1, 0, NULL     },
    {"content",  TY_FIELD_JSON,     offsetof(struct raw_file, content),  0, 0, NULL     },
    {"encoding", TY_FIELD_CHOICE,   offsetof(struct raw_file, encoding), 0, 0, encodings},
};

static void decode_content(struct ty_spec_reader *reader, const char *text,
                           struct ty_spec_file *file)
{
    size_t len = strlen(text);

    file->bytes = ty_spec_alloc(reader, len + 1, 1);
    if (file->bytes &&
        ty_base64_decode(text, len, (uint8_t *)file->bytes, len, &file->len) != TY_OK)
        ty_spec_fault(reader, "base64_invalid", "is not base64 (RFC 4648 4, with padding)");
}

static void read_content(struct ty_spec_reader *reader, const struct raw_file *raw,
                         struct ty_spec_file *file)
{
    size_t mark = ty_spec_enter(reader, "content");
    const char *text = NULL;

    if (!raw->content)
        ty_spec_fault(reader, "required", "is missing");
    else
        text = ty_spec_text(reader, raw->content);
    if (text && raw->encoding == 1) {
        decode_content(reader, text, file);
    } else if (text) {
        file->bytes = ty_spec_dup(reader, text);
        file->len = strlen(text);
    }
    ty_spec_leave(reader, mark);
}

/* Two files on one path, or one where another needs a folder. */
static void check_clash(struct ty_spec_reader *reader, const char *script_name,
                        const struct ty_spec_files *files, const char *path)
{
    bool clash = script_name &&
                 (ty_spec_path_below(path, script_name) || ty_spec_path_below(script_name, path));

    for (size_t i = 0; !clash && i < files->count; i++)
        clash = ty_spec_path_below(path, files->items[i].name) ||
                ty_spec_path_below(files->items[i].name, path);
    if (clash)
        ty_spec_fault_in(reader, "path", "file_path_taken",
                         "is the path of another file or of the script, or a folder of it");
}

/* The path itself where it is a legal key that no made-up key can equal. */
static char *make_key(struct ty_spec_reader *reader, const char *script_name, const char *path,
                      size_t index)
{
    bool script_in_the_way = script_name && ty_str_starts(script_name, "file.");
    const char *prefix = script_in_the_way ? "f." : "file.";

    if (key_characters(path) && strlen(path) <= KEY_BYTES && !ty_str_starts(path, prefix))
        return ty_spec_dup(reader, path);
    return ty_spec_format(reader, "%s%zu", prefix, index);
}

static void read_file(struct ty_spec_reader *reader, const json_t *value, const char *script_name,
                      struct ty_spec_files *files)
{
    struct raw_file raw = {0};
    struct ty_spec_file file = {0};

    ty_spec_read_fields(reader, value, file_fields, 3, &raw);
    if (!json_is_object(value))
        return;
    read_content(reader, &raw, &file);
    if (raw.path) {
        const char *fault = ty_spec_file_path_fault(raw.path);

        if (fault)
            ty_spec_fault_in(reader, "path", "file_path_invalid", "%s", fault);
        else
            check_clash(reader, script_name, files, raw.path);
        file.name = ty_spec_dup(reader, raw.path);
        file.key = make_key(reader, script_name, raw.path, files->count);
    } else if (!json_object_get(value, "path")) {
        ty_spec_fault_in(reader, "path", "required", "is missing");
    }
    if (file.name && file.key && file.bytes) {
        files->items[files->count++] = file;
        return;
    }
    free(file.name);
    free(file.key);
    free(file.bytes);
}

void ty_spec_read_files(struct ty_spec_reader *reader, const json_t *array, const char *script_name,
                        struct ty_spec_files *files_out)
{
    if (!ty_spec_is_array(reader, array))
        return;
    if (json_array_size(array) > FILES_MAX) {
        ty_spec_fault(reader, "too_many", "has %zu items; at most %d are allowed",
                      json_array_size(array), FILES_MAX);
        return;
    }
    files_out->items = ty_spec_alloc(reader, json_array_size(array), sizeof(*files_out->items));
    for (size_t i = 0; files_out->items && i < json_array_size(array); i++) {
        size_t mark = ty_spec_enter_index(reader, i);

        read_file(reader, json_array_get(array, i), script_name, files_out);
        ty_spec_leave(reader, mark);
    }
}

/* --- command and args --- */

void ty_spec_read_texts(struct ty_spec_reader *reader, const json_t *array, char ***texts_out,
                        size_t *count_out)
{
    if (!ty_spec_is_array(reader, array))
        return;
    if (json_array_size(array) > TEXTS_MAX) {
        ty_spec_fault(reader, "too_many", "has %zu items; at most %d are allowed",
                      json_array_size(array), TEXTS_MAX);
        return;
    }
    char **texts = ty_spec_alloc(reader, json_array_size(array), sizeof(*texts));
    size_t count = 0;

    for (size_t i = 0; texts && i < json_array_size(array); i++) {
        size_t mark = ty_spec_enter_index(reader, i);
        const char *text = ty_spec_text(reader, json_array_get(array, i));

        if (text && strlen(text) > TEXT_BYTES)
            ty_spec_fault(reader, "too_long", "has %zu bytes; at most %d are allowed", strlen(text),
                          TEXT_BYTES);
        texts[count] = ty_spec_dup(reader, text);
        count += texts[count] ? 1 : 0;
        ty_spec_leave(reader, mark);
    }
    *texts_out = texts;
    *count_out = count;
}

void ty_spec_read_command(struct ty_spec_reader *reader, const json_t *value,
                          struct ty_raw_command *command_out)
{
    size_t mark = ty_spec_enter(reader, "command");

    ty_spec_read_texts(reader, value, &command_out->texts, &command_out->count);
    command_out->program = command_out->count > 0 ? TY_PROGRAM_COMMAND : TY_PROGRAM_ENTRYPOINT;
    if (command_out->count > 0 && command_out->texts[0][0] == '\0')
        ty_spec_fault_in(reader, "0", "too_short", "must name a program");
    ty_spec_leave(reader, mark);
}

/* --- all --- */

void ty_spec_read_program(struct ty_spec_reader *reader, struct ty_spec_draft *draft)
{
    if (!draft->script == !draft->command)
        ty_spec_fault(reader, "script_or_command",
                      "exactly one of script and command must be given");
    if (draft->script) {
        size_t mark = ty_spec_enter(reader, "script");

        read_script(reader, draft->script, &draft->spec);
        ty_spec_leave(reader, mark);
    }
    if (draft->files) {
        size_t mark = ty_spec_enter(reader, "files");

        ty_spec_read_files(reader, draft->files, draft->spec.script_name, &draft->spec.files);
        ty_spec_leave(reader, mark);
    }
}

static size_t parameters_size(const struct ty_job_spec *spec)
{
    char variable[TY_PARAMETER_VARIABLE];
    size_t size = 0;

    for (size_t i = 0; i < spec->parameters.count; i++) {
        ty_parameter_variable(spec->parameters.items[i].name, variable);
        size += strlen(variable) + strlen(spec->parameters.items[i].value);
    }
    return size;
}

static size_t arguments_size(const struct ty_job_spec *spec, const struct ty_spec_role *role)
{
    size_t size = 0;

    for (size_t i = 0; i < role->command_count; i++)
        size += strlen(role->command[i]) + 1;
    for (size_t i = 0; i < role->args_count; i++)
        size += strlen(role->args[i]) + 1;
    for (size_t i = 0; i < spec->parameters.count; i++)
        size += strlen(spec->parameters.items[i].name) + strlen(spec->parameters.items[i].value) +
                strlen("--=") + 1;
    return size;
}

/* The parameters are variables too, unless they are flags alone. */
static size_t env_size(const struct ty_job_spec *spec, const struct ty_spec_role *role)
{
    size_t size = spec->parameter_style == TY_PARAMETERS_FLAGS
                      ? 0
                      : parameters_size(spec) + 2 * spec->parameters.count;

    for (size_t i = 0; i < role->env.count; i++)
        size += strlen(role->env.items[i].name) + strlen(role->env.items[i].value) + 2;
    return size;
}

static void check_role_sizes(struct ty_spec_reader *reader, const struct ty_job_spec *spec,
                             const struct ty_spec_role *role)
{
    size_t arguments = arguments_size(spec, role);
    size_t env = env_size(spec, role);

    if (arguments > TY_SPEC_ARGUMENTS_MAX)
        ty_spec_fault_in(reader, "args", "arguments_too_large",
                         "command, parameters and args have %zu bytes; at most %d are allowed",
                         arguments, TY_SPEC_ARGUMENTS_MAX);
    if (env > TY_SPEC_ENV_MAX)
        ty_spec_fault_in(reader, "env", "env_too_large",
                         "env and parameters have %zu bytes; at most %d are allowed", env,
                         TY_SPEC_ENV_MAX);
}

static size_t files_size(const struct ty_spec_files *files)
{
    size_t size = 0;

    for (size_t i = 0; i < files->count; i++)
        size += strlen(files->items[i].key) + files->items[i].len;
    return size;
}

/* The job's own mounts are in both roles, at the same indexes. */
static size_t volumes_size(const struct ty_spec_role *role, size_t first)
{
    size_t size = 0;

    for (size_t i = first; i < role->volumes_count; i++)
        size += files_size(&role->volumes[i].files);
    return size;
}

void ty_spec_check_sizes(struct ty_spec_reader *reader, const struct ty_spec_draft *draft)
{
    const struct ty_job_spec *spec = &draft->spec;
    size_t volumes =
        volumes_size(&spec->master, 0) + volumes_size(&spec->worker, draft->mounts.count);
    size_t size = parameters_size(spec) + files_size(&spec->files) + volumes;

    if (spec->script_name)
        size += strlen(spec->script_name) + spec->script_len;
    if (size > TY_CONFIG_MAP_MAX)
        ty_spec_fault_in(reader,
                         spec->files.count > 0 ? "files"
                         : spec->script        ? "script"
                                               : "volumes",
                         "configmap_too_large",
                         "script, files and parameters have %zu bytes with their names; at most %d "
                         "are allowed: put large code into a volume or the image",
                         size, TY_CONFIG_MAP_MAX);
    if (spec->master.replicas > 0)
        check_role_sizes(reader, spec, &spec->master);
    if (spec->worker.replicas > 0)
        check_role_sizes(reader, spec, &spec->worker);
}
