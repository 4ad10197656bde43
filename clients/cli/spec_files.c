/* What a job runs, from files of this machine: scripts, specs, and files beside the script. */
#include "spec.h"

#include "manifest.h"

#include "trainyard/base/digest.h"
#include "trainyard/base/file.h"
#include "trainyard/base/json.h"
#include "trainyard/base/yaml.h"

#include <fcntl.h>
#include <limits.h>

enum { SOURCE_MAX = 4 * 1024 * 1024, JOB_NAME_MAX = NAME_TEXT - 1 };

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

void cli_name_from(const char *path, char out[NAME_TEXT])
{
    const char *base = base_of(path);
    const char *dot = strrchr(base, '.');
    size_t len = dot && dot != base ? (size_t)(dot - base) : strlen(base);
    size_t used = 0;
    for (size_t i = 0; i < len && used < JOB_NAME_MAX; i++) {
        char c = base[i];
        if (c >= 'A' && c <= 'Z')
            c = (char)(c - 'A' + 'a');
        bool letter = c >= 'a' && c <= 'z';
        bool digit = c >= '0' && c <= '9';
        if (letter || (digit && used > 0))
            out[used++] = c;
        else if (used > 0 && out[used - 1] != '-')
            out[used++] = '-';
    }
    while (used > 0 && out[used - 1] == '-')
        used--;
    out[used] = '\0';
    if (used == 0)
        ty_str_copy(out, NAME_TEXT, "job");
}

static int read_stream(int fd, struct ty_buf *out)
{
    enum { CHUNK = 64 * 1024 };
    for (;;) {
        char *room = ty_buf_reserve(out, CHUNK);
        ssize_t got = room ? read(fd, room, CHUNK) : -1;
        if (got < 0)
            return EXIT_JOB_FAILED;
        if (got == 0)
            return EXIT_DONE;
        ty_buf_grew(out, (size_t)got);
    }
}

/* Read a whole file, "-" for standard input. EXIT_JOB_FAILED after a message. The caller frees. */
static int read_file(const char *path, size_t max, struct ty_buf *out)
{
    struct ty_error err;
    ty_buf_init(out, max);
    if (ty_str_equal(path, "-")) {
        if (read_stream(STDIN_FILENO, out) == EXIT_DONE)
            return EXIT_DONE;
        cli_say("standard input cannot be read, or is larger than %zu bytes", max);
        return EXIT_JOB_FAILED;
    }
    if (ty_file_read(AT_FDCWD, path, out, &err) == TY_OK)
        return EXIT_DONE;
    cli_say("cannot read %s: %s", path, err.text);
    return EXIT_JOB_FAILED;
}

/* --- scripts and commands --- */

static int set_script(const char *path, json_t *spec)
{
    ty_auto_buf text = {0};
    int code = read_file(path, SOURCE_MAX, &text);
    if (code != EXIT_DONE)
        return code;
    if (text.len == 0)
        return cli_misuse("%s is empty", path);
    if (!ty_utf8_valid(text.data, text.len) || memchr(text.data, '\0', text.len))
        return cli_misuse("%s is not a script: it is not UTF-8 text", path);
    json_t *script = json_pack("{s:s,s:s%}", "name", base_of(path), "content", text.data, text.len);
    return script && json_object_set_new(spec, "script", script) == 0
               ? EXIT_DONE
               : cli_misuse("the name of %s is not UTF-8", path);
}

static int set_words(const struct cli *cli, size_t first, const char *member, json_t *spec)
{
    json_t *words = json_array();
    for (size_t i = first; i < cli->arguments.plain_count; i++)
        if (json_array_append_new(words, json_string(cli->arguments.plain[i])) != 0) {
            json_decref(words);
            return cli_misuse("%s is not UTF-8", cli->arguments.plain[i]);
        }
    return json_object_set_new(spec, member, words) == 0 ? EXIT_DONE : EXIT_JOB_FAILED;
}

/* --- whole specs --- */

void cli_source_done(struct cli_source *source)
{
    ty_buf_done(&source->text);
}

/* JSON by its own strict rules; everything else is YAML, a stream where it is a manifest. */
static int read_documents(const char *path, const struct ty_buf *text, json_t **documents_out)
{
    enum { DOCUMENTS_MAX = 64 };
    struct ty_error err;
    json_t *json = NULL;
    const char *bytes = text->data ? text->data : "";
    bool yaml = ty_str_ends(path, ".yaml") || ty_str_ends(path, ".yml");
    if (!yaml && ty_json_parse(bytes, text->len, &json, &err) == TY_OK) {
        *documents_out = json_pack("[o]", json);
        return *documents_out ? EXIT_DONE : EXIT_JOB_FAILED;
    }
    if (!yaml && !ty_str_equal(path, "-"))
        return cli_misuse("%s: %s", path, err.text);
    if (ty_yaml_parse_stream(bytes, text->len, DOCUMENTS_MAX, documents_out, &err) != TY_OK)
        return cli_misuse("%s: %s", path, err.text);
    return EXIT_DONE;
}

/* The only document, an object; borrowed. */
static int only_object(const char *path, const json_t *documents, json_t **object_out)
{
    json_t *given = json_array_get(documents, 0);
    if (json_array_size(documents) != 1 || !json_is_object(given))
        return cli_misuse("%s must hold an object", path);
    *object_out = given;
    return EXIT_DONE;
}

int cli_read_object(const char *path, json_t **object_out)
{
    ty_auto_buf text = {0};
    ty_auto_json documents = NULL;
    json_t *given = NULL;
    int code = read_file(path, SOURCE_MAX, &text);
    if (code == EXIT_DONE)
        code = read_documents(path, &text, &documents);
    if (code == EXIT_DONE)
        code = only_object(path, documents, &given);
    if (code == EXIT_DONE)
        *object_out = json_incref(given);
    return code;
}

static int import(const struct cli *cli, const char *path, const json_t *documents,
                  const struct cli_source *source, json_t **spec_out)
{
    struct job_file file = {path, source->text.data ? source->text.data : "", source->text.len};
    return manifest_import(&file, documents, cli_value(cli, "namespace"), spec_out);
}

static int set_spec(const struct cli *cli, const char *path, json_t *spec,
                    struct cli_source *source)
{
    ty_auto_json documents = NULL;
    ty_auto_json imported = NULL;
    json_t *given = NULL;
    int code = read_file(path, SOURCE_MAX, &source->text);
    if (code == EXIT_DONE)
        code = read_documents(path, &source->text, &documents);
    if (code != EXIT_DONE)
        return code;
    source->manifest = manifest_found(documents);
    code = source->manifest ? import(cli, path, documents, source, &imported)
                            : only_object(path, documents, &given);
    if (code != EXIT_DONE)
        return code;
    return json_object_update(spec, imported ? imported : given) == 0 ? EXIT_DONE : EXIT_JOB_FAILED;
}

static bool is_spec(const char *path)
{
    return ty_str_equal(path, "-") || ty_str_ends(path, ".json") || ty_str_ends(path, ".yaml") ||
           ty_str_ends(path, ".yml");
}

static int name_after(const char *path, json_t *spec)
{
    char name[NAME_TEXT];
    cli_name_from(path, name);
    return json_object_set_new(spec, "name", json_string(name)) == 0 ? EXIT_DONE : EXIT_JOB_FAILED;
}

int cli_spec_source(const struct cli *cli, json_t *spec, struct cli_source *source_out)
{
    const struct cli_arguments *arguments = &cli->arguments;
    const char *source = arguments->rest > 0 ? arguments->plain[0] : NULL;
    int code;
    if (arguments->rest > 1)
        return cli_misuse("one script or spec; its own arguments come after --");
    if (cli_has(cli, "command")) {
        if (source || !arguments->plain[0])
            return cli_misuse("--command takes its program after --");
        code = set_words(cli, 0, "command", spec);
        return code == EXIT_DONE ? name_after(arguments->plain[0], spec) : code;
    }
    if (!source)
        return cli_misuse("a script, a spec, or --command is needed (see trainyard help submit)");
    if (is_spec(source)) {
        code = set_spec(cli, source, spec, source_out);
    } else {
        code = set_script(source, spec);
        if (code == EXIT_DONE)
            code = name_after(source, spec);
    }
    if (code == EXIT_DONE && arguments->plain_count > arguments->rest)
        code = set_words(cli, arguments->rest, "args", spec);
    return code == EXIT_DONE ? cli_spec_files(cli, is_spec(source) ? NULL : source, spec) : code;
}

/* --- files beside the script --- */

/* The folder of the script, or this one, with a slash at its end. */
static bool find_folder(const char *script, char out[PATH_MAX + 1])
{
    char real[PATH_MAX];
    if (!realpath(script ? script : ".", real))
        return false;
    size_t len = strlen(real);
    if (script)
        while (len > 0 && real[len - 1] != '/')
            len--;
    snprintf(out, PATH_MAX + 1, "%.*s%s", (int)len, real,
             len > 0 && real[len - 1] == '/' ? "" : "/");
    return true;
}

static json_t *encode_file(const char *path, const struct ty_buf *bytes)
{
    const char *data = bytes->data ? bytes->data : "";
    if (ty_utf8_valid(data, bytes->len) && !memchr(data, '\0', bytes->len))
        return json_pack("{s:s,s:s%}", "path", path, "content", data, bytes->len);
    ty_auto_free char *text = malloc((bytes->len + 2) / 3 * 4 + 1);
    if (!text)
        return NULL;
    ty_base64(data, bytes->len, text);
    return json_pack("{s:s,s:s,s:s}", "path", path, "content", text, "encoding", "base64");
}

static int add_file(const char *folder, const char *path, json_t *files)
{
    char real[PATH_MAX];
    ty_auto_buf bytes = {0};
    int code = read_file(path, SOURCE_MAX, &bytes);
    if (code != EXIT_DONE)
        return code;
    bool below = realpath(path, real) && ty_str_starts(real, folder);
    json_t *file = encode_file(below ? real + strlen(folder) : base_of(path), &bytes);
    if (json_array_append_new(files, file) != 0)
        return cli_misuse("the name of %s is not UTF-8", path);
    return EXIT_DONE;
}

int cli_spec_files(const struct cli *cli, const char *script, json_t *spec)
{
    char folder[PATH_MAX + 1];
    const char *path;
    if (!cli_has(cli, "file"))
        return EXIT_DONE;
    if (!find_folder(script, folder))
        return cli_misuse("the script's folder cannot be read");
    if (!json_is_array(json_object_get(spec, "files")) &&
        json_object_set_new(spec, "files", json_array()) != 0)
        return EXIT_JOB_FAILED;
    for (size_t i = 0; (path = cli_nth(cli, "file", i)) != NULL; i++) {
        int code = add_file(folder, path, json_object_get(spec, "files"));
        if (code != EXIT_DONE)
            return code;
    }
    return EXIT_DONE;
}
