/* The build's own tool:
 *   contract_embed json IN.yaml OUT.json RULES.json   read the contract, compile every schema of
 * it, write it as compact JSON, whole and as far as requests are checked with it contract_embed c
 * OUT.c DOC.json RULES.json DOCS.html STYLE.css   write them as C, each with its ETag */
#include "contract/operation.h"
#include "contract/strip.h"

#include "trainyard/base/digest.h"
#include "trainyard/base/file.h"
#include "trainyard/base/scope.h"
#include "trainyard/base/yaml.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

enum { FILE_MAX = 16 * 1024 * 1024, ETAG_DIGEST_BYTES = 18, BYTES_A_LINE = 24 };

static ty_status check_whole(const char *json, size_t len, struct ty_error *err)
{
    struct ty_contract *contract;
    ty_status status = ty_contract_create(json, len, &contract, err);

    if (status)
        return status;
    status = ty_contract_compile_all(contract, err);
    ty_contract_destroy(contract);
    return status;
}

static ty_status write_checked(const json_t *document, const char *to, struct ty_error *err)
{
    ty_auto_free char *json = json_dumps(document, JSON_COMPACT | JSON_REAL_PRECISION(15));
    ty_status status;

    if (!json)
        return ty_fail(err, TY_NO_MEMORY, "no memory for the contract");
    status = check_whole(json, strlen(json), err);
    return status ? status : ty_file_write(AT_FDCWD, to, json, strlen(json), 0644, err);
}

static ty_status write_json(const char *from, const char *to, const char *rules_to,
                            struct ty_error *err)
{
    ty_auto_buf yaml = {0};
    ty_auto_json document = NULL;
    ty_status status;

    ty_buf_init(&yaml, FILE_MAX);
    status = ty_file_read(AT_FDCWD, from, &yaml, err);
    if (status)
        return status;
    status = ty_yaml_parse(yaml.data, yaml.len, &document, err);
    if (status)
        return status;
    status = write_checked(document, to, err);
    if (status)
        return status;
    ty_contract_strip(document);
    return write_checked(document, rules_to, err);
}

/* --- C --- */
struct embedded {
    const char *function;
    const char *media_type;
};

static const struct embedded kinds[] = {
    {"ty_contract_document", "application/json"        },
    {"ty_contract_rules",    "application/json"        },
    {"ty_contract_docs",     "text/html; charset=utf-8"},
    {"ty_contract_style",    "text/css; charset=utf-8" },
};

static ty_status add_document(struct ty_buf *out, const struct embedded *kind, const char *from,
                              struct ty_error *err)
{
    ty_auto_buf file = {0};
    uint8_t digest[TY_SHA256];
    char tag[64];
    ty_status status;

    ty_buf_init(&file, FILE_MAX);
    status = ty_file_read(AT_FDCWD, from, &file, err);
    if (status)
        return status;
    status = ty_sha256(file.data, file.len, digest);
    if (status)
        return ty_fail(err, status, "digest of %s", from);
    (void)ty_base64url(digest, ETAG_DIGEST_BYTES, tag);
    ty_buf_addf(out, "static const unsigned char %s_bytes[] = {", kind->function);
    for (size_t i = 0; i < file.len; i++)
        ty_buf_addf(out, "%s%d,", i % BYTES_A_LINE == 0 ? "\n" : "", (unsigned char)file.data[i]);
    ty_buf_addf(out, "\n};\n\nconst struct ty_document *%s(void)\n{\n", kind->function);
    ty_buf_adds(out, "    static const struct ty_document document = {\n");
    ty_buf_addf(out, "        .media_type = \"%s\",\n", kind->media_type);
    ty_buf_addf(out, "        .bytes = (const char *)%s_bytes,\n", kind->function);
    ty_buf_addf(out, "        .len = sizeof %s_bytes,\n", kind->function);
    ty_buf_addf(out, "        .etag = \"\\\"%s\\\"\",\n    };\n\n    return &document;\n}\n\n",
                tag);
    return TY_OK;
}

static ty_status write_c(const char *to, char *const *files, struct ty_error *err)
{
    ty_auto_buf out = {0};
    ty_status status;

    ty_buf_init(&out, FILE_MAX);
    ty_buf_adds(&out,
                "/* Made by contract_embed. */\n#include \"trainyard/contract/documents.h\"\n\n");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        status = add_document(&out, &kinds[i], files[i], err);
        if (status)
            return status;
    }
    status = ty_buf_check(&out, "the C text", err);
    return status ? status : ty_file_write(AT_FDCWD, to, out.data, out.len, 0644, err);
}

int main(int argc, char **argv)
{
    struct ty_error err;
    ty_status status;

    if (argc == 5 && strcmp(argv[1], "json") == 0) {
        status = write_json(argv[2], argv[3], argv[4], &err);
    } else if (argc == 7 && strcmp(argv[1], "c") == 0) {
        status = write_c(argv[2], argv + 3, &err);
    } else {
        (void)fputs("usage: contract_embed json IN.yaml OUT.json RULES.json |"
                    " c OUT.c JSON RULES HTML CSS\n",
                    stderr);
        return 2;
    }
    if (status)
        (void)fprintf(stderr, "%s: %s\n", argv[2], err.text);
    return status ? 1 : 0;
}
