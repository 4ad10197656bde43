/* Random job specs from a seed: most of them allowed, every member now and then. */
#ifndef TRAINYARD_TESTS_UNIT_RENDER_ANY_BODY_H
#define TRAINYARD_TESTS_UNIT_RENDER_ANY_BODY_H

#include "trainyard/base/random.h"
#include "unit.h"

#include <jansson.h>
#include <stdlib.h>

struct source {
    struct ty_seeded seeded;
    struct ty_random random;
};

static size_t below(struct source *source, size_t bound)
{
    return (size_t)ty_random_below(&source->random, bound);
}

static const char *pick(struct source *source, const char *const *texts, size_t count)
{
    return texts[below(source, count)];
}

#define PICK(source, ...)                                                                          \
    pick(source, (const char *const[]){__VA_ARGS__},                                               \
         sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

static json_t *any_text(struct source *source)
{
    return json_string(PICK(source, "", "x", "$(RANK)", "$$", "a b", "no", "1e3", "l1\nl2", "ü",
                            "--x=1", "\"", "${A}", "0", " "));
}

static json_t *any_new_claim(struct source *source)
{
    json_t *create = json_pack("{s:s,s:s}", "size", PICK(source, "1Gi", "5G", "1e9"), "access_mode",
                               PICK(source, "read_write_once", "read_write_many"));

    if (below(source, 3) == 0)
        json_object_set_new(create, "storage_class", json_string("fast"));
    return create;
}

static json_t *any_scratch(struct source *source)
{
    json_t *scratch = json_object();

    if (below(source, 2) == 0)
        json_object_set_new(scratch, "size", json_string("1Gi"));
    if (below(source, 2) == 0)
        json_object_set_new(scratch, "memory", json_boolean(below(source, 2) == 0));
    return scratch;
}

static json_t *any_mount(struct source *source)
{
    static const char *const paths[] = {"/a",      "/b",           "/c/d", "/data",
                                        "/output", "/checkpoints", "/w"};
    json_t *mount = json_object();

    json_object_set_new(mount, "mount_path", json_string(pick(source, paths, UNIT_COUNT(paths))));
    switch (below(source, 8)) {
    case 0:
    case 1:
        json_object_set_new(mount, "create", any_new_claim(source));
        break;
    case 2:
        json_object_set_new(mount, "scratch", any_scratch(source));
        return mount;
    case 3:
        json_object_set_new(mount, "files",
                            json_pack("[{s:s,s:o},{s:s,s:s,s:s}]", "path",
                                      PICK(source, "a", "b/c", "ü"), "content", any_text(source),
                                      "path", "bin", "content", "AAE=", "encoding", "base64"));
        return mount;
    case 4:
        json_object_set_new(mount, "create", any_new_claim(source));
        json_object_set_new(mount, "claim", json_string(PICK(source, "made", "made2")));
        break;
    default:
        json_object_set_new(mount, "claim",
                            json_string(PICK(source, "c1", "c2", "data.v1", "out")));
    }
    if (below(source, 3) == 0)
        json_object_set_new(mount, "sub_path", json_string(PICK(source, "s", "s/t")));
    if (below(source, 3) == 0)
        json_object_set_new(mount, "read_only", json_boolean(below(source, 2) == 0));
    return mount;
}

static json_t *any_list(struct source *source, json_t *(*make)(struct source *), size_t max)
{
    json_t *list = json_array();

    for (size_t i = below(source, max + 1); i > 0; i--)
        json_array_append_new(list, make(source));
    return list;
}

static json_t *any_env(struct source *source)
{
    json_t *env = json_object();

    for (size_t i = below(source, 4); i > 0; i--)
        json_object_set_new(env, PICK(source, "A", "B_1", "LR", "_x", "NCCL_DEBUG"),
                            any_text(source));
    return env;
}

static json_t *any_resources(struct source *source)
{
    json_t *resources = json_object();

    if (below(source, 2) == 0)
        json_object_set_new(resources, "memory",
                            json_string(PICK(source, "1Gi", "512Mi", "1.2Gi", "3G", "2e9")));
    if (below(source, 2) == 0)
        json_object_set_new(resources, "cpu", json_string(PICK(source, "1", "500m", "0.5", "1e1")));
    if (below(source, 3) == 0)
        json_object_set_new(resources, "limits", json_pack("{s:s}", "memory", "4Gi"));
    if (below(source, 4) == 0)
        json_object_set_new(resources, "ephemeral_storage", json_string("20Gi"));
    return resources;
}

static json_t *any_file(struct source *source)
{
    return json_pack("{s:s,s:o}", "path",
                     PICK(source, "a.py", "b/c.py", "d e", "file.0", "file.1", "ü", ".x", "b/d.py",
                          "f.0", "train.py"),
                     "content", any_text(source));
}

static json_t *any_secret(struct source *source)
{
    json_t *secret = json_pack("{s:s,s:s}", "name", PICK(source, "wandb", "hub"), "key",
                               PICK(source, "TOKEN", "api-key", ".x"));

    if (below(source, 2) == 0)
        json_object_set_new(secret, "env", json_string(PICK(source, "S1", "S2", "S3")));
    else
        json_object_set_new(secret, "path",
                            json_string(PICK(source, "/run/secrets/a", "/run/secrets/b", "/s/t")));
    return secret;
}

static json_t *any_secrets(struct source *source)
{
    return any_list(source, any_secret, 3);
}

static json_t *any_labels(struct source *source)
{
    json_t *labels = json_object();

    for (size_t i = below(source, 3); i > 0; i--)
        json_object_set_new(labels, PICK(source, "team", "a", "b-c"),
                            json_string(PICK(source, "x", "no", "1", "")));
    return labels;
}

static json_t *any_expression(struct source *source)
{
    json_t *expression = json_pack("{s:s,s:s}", "key", PICK(source, "zone", "gpu.example/type"),
                                   "operator", PICK(source, "in", "not_in", "exists"));

    if (strcmp(json_string_value(json_object_get(expression, "operator")), "exists") != 0)
        json_object_set_new(expression, "values", json_pack("[s,s]", "a", "b"));
    return expression;
}

static json_t *any_pod_term(struct source *source, bool preferred)
{
    json_t *term = json_pack("{s:s}", "topology_key", "kubernetes.io/hostname");

    if (below(source, 2) == 0)
        json_object_set_new(term, "labels", json_pack("{s:s}", "app", "x"));
    if (below(source, 2) == 0)
        json_object_set_new(term, "match", json_pack("[o]", any_expression(source)));
    if (below(source, 3) == 0)
        json_object_set_new(term, "namespaces", json_pack("[s]", "other"));
    if (preferred)
        json_object_set_new(term, "weight", json_integer((json_int_t)below(source, 100) + 1));
    return term;
}

static json_t *any_affinity(struct source *source)
{
    json_t *affinity = json_object();

    if (below(source, 2) == 0)
        json_object_set_new(affinity, "node",
                            json_pack("{s:[{s:[o]}],s:[{s:i,s:[o]}]}", "required", "match",
                                      any_expression(source), "preferred", "weight", 7, "match",
                                      any_expression(source)));
    if (below(source, 2) == 0)
        json_object_set_new(affinity, "pods",
                            json_pack("{s:[o]}", "required", any_pod_term(source, false)));
    if (below(source, 2) == 0)
        json_object_set_new(affinity, "pods_apart",
                            json_pack("{s:[o]}", "preferred", any_pod_term(source, true)));
    return affinity;
}

static json_t *any_toleration(struct source *source)
{
    switch (below(source, 3)) {
    case 0:
        return json_pack("{s:s,s:s}", "key", "nvidia.com/gpu", "operator", "exists");
    case 1:
        return json_pack("{s:s,s:s,s:s}", "key", "k", "value", "v", "effect", "no_schedule");
    default:
        return json_pack("{s:s,s:s,s:s,s:i}", "key", "k", "operator", "exists", "effect",
                         "no_execute", "seconds", 5);
    }
}

static json_t *any_tolerations(struct source *source)
{
    return any_list(source, any_toleration, 2);
}

static json_t *any_role(struct source *source)
{
    json_t *role = json_object();

    if (below(source, 4) == 0)
        json_object_set_new(role, "secrets", any_secrets(source));
    if (below(source, 4) == 0)
        json_object_set_new(role, "gpus", json_integer((json_int_t)below(source, 3)));
    if (below(source, 4) == 0)
        json_object_set_new(role, "node_selector", any_labels(source));
    if (below(source, 4) == 0)
        json_object_set_new(role, "affinity", any_affinity(source));
    if (below(source, 4) == 0)
        json_object_set_new(role, "tolerations", any_tolerations(source));
    if (below(source, 4) == 0)
        json_object_set_new(role, "shared_memory", json_string("1Gi"));
    if (below(source, 4) == 0)
        json_object_set_new(role, "working_dir", json_string("/w"));
    if (below(source, 4) == 0)
        json_object_set_new(role, "command", json_pack("[s,s]", "serve", "$$(RANK)"));

    if (below(source, 2) == 0)
        json_object_set_new(role, "env", any_env(source));
    if (below(source, 2) == 0)
        json_object_set_new(role, "args", any_list(source, any_text, 3));
    if (below(source, 3) == 0)
        json_object_set_new(role, "resources", any_resources(source));
    if (below(source, 3) == 0)
        json_object_set_new(role, "volumes", any_list(source, any_mount, 2));
    if (below(source, 3) == 0)
        json_object_set_new(role, "image", json_string("other:2"));
    return role;
}

static json_t *any_parameters(struct source *source)
{
    json_t *parameters = json_object();

    for (size_t i = below(source, 4); i > 0; i--)
        json_object_set_new(parameters, PICK(source, "lr", "batch-size", "n", "amp"),
                            below(source, 2) == 0 ? json_real(0.1) : any_text(source));
    return parameters;
}

static json_t *any_script(struct source *source)
{
    if (below(source, 2) == 0)
        return json_string("print(1)\r\n");
    return json_pack("{s:s,s:s}", "name", PICK(source, "t.py", "file.0", "f.0", "run.sh"),
                     "content", "x");
}

static json_t *any_number(struct source *source)
{
    return json_integer((json_int_t)below(source, 5));
}

static json_t *any_positive(struct source *source)
{
    return json_integer((json_int_t)below(source, 30) + 1);
}

static json_t *any_restart(struct source *source)
{
    return json_string(PICK(source, "on_failure", "never", "always", "exit_code"));
}

static json_t *any_style(struct source *source)
{
    return json_string(PICK(source, "both", "flags", "environment"));
}

static json_t *any_claim(struct source *source)
{
    return json_string(PICK(source, "c1", "out", "data.v1"));
}

static json_t *any_checkpoints(struct source *source)
{
    json_t *checkpoints = json_object();

    if (below(source, 2) == 0)
        json_object_set_new(checkpoints, "volume", any_claim(source));
    if (below(source, 2) == 0)
        json_object_set_new(checkpoints, "path",
                            json_string(PICK(source, "x", "/output/y", "/ck", "a/b")));
    if (below(source, 2) == 0)
        json_object_set_new(checkpoints, "resume", json_true());
    if (below(source, 2) == 0)
        json_object_set_new(checkpoints, "keep_last", json_integer(3));
    return checkpoints;
}

static json_t *any_mounts(struct source *source)
{
    return any_list(source, any_mount, 3);
}

static json_t *any_texts(struct source *source)
{
    return any_list(source, any_text, 4);
}

static json_t *any_files(struct source *source)
{
    return any_list(source, any_file, 4);
}

static json_t *any_word(struct source *source)
{
    return json_string(PICK(source, "high", "team-a", "volcano"));
}

static json_t *any_gang(struct source *source)
{
    json_t *gang = json_object();

    if (below(source, 2) == 0)
        json_object_set_new(gang, "min_available", json_integer(1));
    if (below(source, 2) == 0)
        json_object_set_new(gang, "timeout_seconds", any_positive(source));
    return gang;
}

static json_t *any_elastic(struct source *source)
{
    json_t *elastic = json_pack("{s:i,s:i}", "min", 1, "max", 30);

    if (below(source, 2) == 0)
        json_object_set_new(elastic, "max_restarts", any_number(source));
    if (below(source, 2) == 0)
        json_object_set_new(elastic, "rendezvous",
                            json_pack("{s:s,s:s,s:i,s:s,s:{s:s}}", "backend", "etcd", "host",
                                      "etcd.x", "port", 2379, "id", PICK(source, "r", "job-1"),
                                      "conf", "timeout", PICK(source, "5", "a$b")));
    return elastic;
}

static json_t *any_mlflow(struct source *source)
{
    json_t *mlflow = json_pack("{s:s}", "tracking_uri", "http://mlflow:5000");

    if (below(source, 2) == 0)
        json_object_set_new(mlflow, "experiment", json_string("e $ 1"));
    return mlflow;
}

static json_t *any_board(struct source *source)
{
    return below(source, 2) == 0 ? json_object() : json_pack("{s:s}", "path", "tb/x");
}

static json_t *any_flag(struct source *source)
{
    return json_boolean(below(source, 2) == 0);
}

static json_t *any_size(struct source *source)
{
    return json_string(PICK(source, "1Gi", "64Mi"));
}

static json_t *any_clean(struct source *source)
{
    return json_string(PICK(source, "running", "none", "all"));
}

static json_t *any_launcher(struct source *source)
{
    return json_string(PICK(source, "python", "torchrun"));
}

static json_t *any_backend(struct source *source)
{
    return json_string(PICK(source, "nccl", "gloo", "mpi"));
}

struct member {
    const char *name;
    json_t *(*make)(struct source *source);
};

static const struct member members[] = {
    {"replicas",              any_positive   },
    {"gpus",                  any_number     },
    {"epochs",                any_positive   },
    {"max_retries",           any_number     },
    {"timeout_seconds",       any_positive   },
    {"restart",               any_restart    },
    {"parameter_style",       any_style      },
    {"parameters",            any_parameters },
    {"env",                   any_env        },
    {"args",                  any_texts      },
    {"files",                 any_files      },
    {"resources",             any_resources  },
    {"volumes",               any_mounts     },
    {"dataset",               any_claim      },
    {"output",                any_claim      },
    {"checkpoints",           any_checkpoints},
    {"master",                any_role       },
    {"worker",                any_role       },
    {"labels",                any_labels     },
    {"description",           any_text       },
    {"keep_seconds",          any_number     },
    {"priority",              any_number     },
    {"suspended",             any_flag       },
    {"clean_pods",            any_clean      },
    {"launcher",              any_launcher   },
    {"backend",               any_backend    },
    {"processes_per_replica", any_positive   },
    {"shared_memory",         any_size       },
    {"secrets",               any_secrets    },
    {"node_selector",         any_labels     },
    {"affinity",              any_affinity   },
    {"tolerations",           any_tolerations},
    {"priority_class",        any_word       },
    {"queue",                 any_word       },
    {"scheduler",             any_word       },
    {"gang",                  any_gang       },
    {"tensorboard",           any_board      },
    {"mlflow",                any_mlflow     },
    {"elastic",               any_elastic    },
};

static json_t *any_body(struct source *source)
{
    json_t *body = json_pack("{s:s}", "image", "a/b:1");

    if (below(source, 3) == 0)
        json_object_set_new(body, "command", json_pack("[s,s]", "run", "$(MASTER_ADDR)$"));
    else
        json_object_set_new(body, "script", any_script(source));
    for (size_t i = 0; i < UNIT_COUNT(members); i++)
        if (below(source, 6) == 0)
            json_object_set_new(body, members[i].name, members[i].make(source));
    return body;
}

/* A script that no role runs is but a file in the objects. */
static void let_script_run(json_t *body)
{
    if (!json_object_get(body, "script"))
        return;
    json_object_del(json_object_get(body, "master"), "command");
    if (json_object_get(body, "elastic"))
        json_object_del(json_object_get(body, "worker"), "command");
}

#endif
