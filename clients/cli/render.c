/* render and import: a job as Kubernetes objects and back, without a gateway. */
#include "commands.h"
#include "manifest.h"
#include "output.h"
#include "spec.h"

#include "trainyard/base/yaml.h"

#include <stdio.h>

static const char *namespace_of(const struct cli *cli)
{
    const char *given = cli_value(cli, "namespace");
    return given ? given : "default";
}

static bool prints_json(const struct cli *cli)
{
    return cli->format == FORMAT_JSON;
}

/* One document an object, as kubectl takes a file; or a List. */
static int print_objects(const struct cli *cli, json_t *objects)
{
    ty_auto_buf text = {0};
    size_t index;
    json_t *object;
    if (prints_json(cli)) {
        ty_auto_json list =
            json_pack("{s:s,s:s,s:O}", "apiVersion", "v1", "kind", "List", "items", objects);
        return list ? cli_print_object(cli, list, "kind") : EXIT_JOB_FAILED;
    }
    ty_buf_init(&text, 64 * 1024 * 1024);
    json_array_foreach(objects, index, object)
    {
        ty_buf_adds(&text, "---\n");
        ty_yaml_write(&text, object);
    }
    if (text.failed != TY_OK)
        return EXIT_JOB_FAILED;
    fwrite(text.data, 1, text.len, stdout);
    return EXIT_DONE;
}

/* What the words name: a script, a spec or a manifest, changed by flags. */
static int read_job(const struct cli *cli, json_t *spec)
{
    struct cli_source source = {0};
    int code = cli_spec_source(cli, spec, &source);
    bool manifest = source.manifest;
    cli_source_done(&source);
    if (code == EXIT_DONE)
        code = cli_spec_flags(cli, spec);
    if (code == EXIT_DONE && !manifest)
        code = cli_spec_image(spec);
    return code;
}

static int run_render(struct cli *cli)
{
    ty_auto_json body = json_object();
    ty_auto_json objects = NULL;
    struct ty_job_spec *spec = NULL;
    const char *path = cli->arguments.rest > 0 ? cli->arguments.plain[0] : "the job";
    int code = read_job(cli, body);
    if (code == EXIT_DONE)
        code = manifest_judge(path, body, &spec);
    if (code == EXIT_DONE && cli_has(cli, "spec"))
        code = cli_print_spec(cli, body);
    else if (code == EXIT_DONE)
        code = manifest_render(spec, namespace_of(cli), &objects);
    ty_job_spec_destroy(spec);
    return code == EXIT_DONE && objects ? print_objects(cli, objects) : code;
}

static int run_import(struct cli *cli)
{
    ty_auto_json body = json_object();
    struct cli_source source = {0};
    int code = cli_spec_source(cli, body, &source);
    if (code == EXIT_DONE && !source.manifest)
        code = cli_misuse("%s is no Kubernetes manifest", cli->arguments.plain[0]);
    cli_source_done(&source);
    return code == EXIT_DONE ? cli_print_spec(cli, body) : code;
}

static const struct cli_option render_options[] = {
    {"namespace", 'n', "NAME", "the namespace of the objects (default)",               NULL, false},
    {"spec",      0,   NULL,   "print the job's spec instead of its objects",          NULL, false},
    {"command",   0,   NULL,   "run the words after -- as they are, without a script", NULL, false},
    {NULL,        0,   NULL,   NULL,                                                   NULL, false},
};

static const struct cli_option import_options[] = {
    {"namespace", 'n', "NAME", "the namespace it is meant for; another one is warned of", NULL,
     false                                                                                           },
    {NULL,        0,   NULL,   NULL,                                                      NULL, false},
};

const struct cli_command command_render = {
    .name = "render",
    .usage = "FILE | SCRIPT.py [flags] [-- ARGUMENTS…]",
    .help = "Print a job's Kubernetes objects, without a gateway",
    .more = "FILE is a spec (JSON or YAML) or a Kubernetes manifest, - for standard input. The "
            "objects\n"
            "come as YAML, with -o json as a List; the job's id in them is all zeros. Faults are\n"
            "those that a gateway would tell: FILE:LINE:COLUMN for manifests, exit code 6.",
    .run = run_render,
    .options = render_options,
    .shared = spec_options,
    .most = ARGUMENTS_MAX,
    .words = WORDS_FILES,
    .local = true,
};

const struct cli_command command_import = {
    .name = "import",
    .usage = "MANIFEST.yaml",
    .help = "Print the job spec that a Kubernetes manifest stands for",
    .more =
        "The manifest is a stream of one PyTorchJob with the ConfigMaps and claims it uses, - for\n"
        "standard input. The spec comes as JSON, with -o yaml as YAML. Every field is carried, or\n"
        "says what holds anyway, or is refused as FILE:LINE:COLUMN with exit code 6.",
    .run = run_import,
    .options = import_options,
    .least = 1,
    .most = 1,
    .words = WORDS_FILES,
    .local = true,
};
