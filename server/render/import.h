/* Reading a manifest: where we are, what was found, and tables of rules for the fields of each kind
 * of object. A part of the import reads one kind of object and fills the spec; faults and a lack of
 * memory are remembered, so that reading goes on and all faults are told at once. */
#ifndef TRAINYARD_SERVER_RENDER_IMPORT_H
#define TRAINYARD_SERVER_RENDER_IMPORT_H

#include "trainyard/render/import.h"

#include <stdint.h>

enum {
    IMPORT_OBJECTS = 128,
    IMPORT_ITEMS =
        64, /* volumes, mounts and ConfigMaps of a container: twice what a spec may have */
    IMPORT_COPIED = 8 * 1024 * 1024, /* bytes of ConfigMaps and variables where they are used */
    IMPORT_AT = 512,
    IMPORT_NUMBER = 24
};

/* An object of the stream: the job itself, or one that it refers to. */
struct import_object {
    const json_t *json;
    const char *name;
    size_t document;
    char at[32];    /* its pointer within the document: "" or "/items/7" */
    json_t *create; /* of a claim: as the spec's create says it */
    json_t *keys;   /* of a ConfigMap: those that are used, as a set */
    bool used;
};

/* Master or Worker as it was read, before the two are compared. */
struct import_role {
    const char *name;  /* "Master" */
    const char *scope; /* "master", the spec's member */
    bool given;
    int64_t replicas;
    const char *restart;   /* the operator's word; borrowed */
    json_t *values;        /* members of the spec */
    json_t *volumes;       /* the pod's, by their names */
    json_t *mounts;        /* members of volumes[], in the order of the container's mounts */
    json_t *paths;         /* what is mounted, as a set */
    json_t *maps;          /* names of the ConfigMaps that envFrom takes whole */
    json_t *variables;     /* name -> text of every variable, null for a Secret's: for references */
    json_t *named;         /* names in env, as a set */
    json_t *own;           /* what our renderer said by variables: TRAINYARD_OUTPUT_DIR… */
    const json_t *command; /* as Kubernetes has it; borrowed, as the next */
    const json_t *args;
    char args_at[IMPORT_AT]; /* where */
    bool torchrun;           /* its command starts torchrun */
};

struct import {
    struct ty_faults *faults;
    bool no_memory;
    const char *namespace;
    size_t document; /* where we are: the document, and the pointer within */
    size_t at_len;
    char at[IMPORT_AT];
    size_t to_len; /* what we fill: scope, ':' and the pointer of `target` in the spec */
    char to[IMPORT_AT];
    json_t *target;           /* borrowed */
    struct import_role *role; /* NULL outside of a role */
    json_t *spec;
    json_t *warnings;
    json_t *origins; /* "scope:/member" -> [document, pointer] */
    json_t *placed;  /* claims of the job's own that were mounted, as a set */
    json_t *places;  /* keys of ConfigMaps that are parameters -> the same */
    struct import_object job;
    struct import_object objects[IMPORT_OBJECTS]; /* ConfigMaps and claims */
    size_t object_count;
    struct import_role roles[2]; /* Master, Worker */
    const json_t *elastic;
    const char *processes; /* nprocPerNode; borrowed */
    char number[IMPORT_NUMBER];
    size_t copied; /* so many bytes of ConfigMaps and variables stand where they are used */
    int64_t flags; /* of our own annotation: so many leading args are parameters */
    bool ours;     /* our renderer wrote it */
    bool backoff;  /* backoffLimit was given */
    bool folder_warned;
};

/* --- tables --- */

typedef void import_reader(struct import *im, const json_t *value);

struct import_choice {
    const char *from;
    const char *to;
};

typedef enum {
    IMPORT_REFUSED, /* the spec cannot say it; `reason` says why, or what to write instead */
    IMPORT_READ,    /* `read` does */
    IMPORT_TEXT,    /* these become the member `to` of the target */
    IMPORT_INTEGER,
    IMPORT_BOOLEAN,
    IMPORT_CHOICE, /* a text of `choices` */
    IMPORT_TEXTS,  /* a list of texts */
    IMPORT_PAIRS   /* a map of texts */
} import_kind;

/* One field. A value equal to `normal` (JSON text) is what holds anyway and changes nothing; null
 * stands for an absent field, as it does in Kubernetes. */
struct import_rule {
    const char *field;
    import_kind kind;
    const char *to;
    import_reader *read;
    const struct import_choice *choices; /* ends with a NULL */
    const char *normal;                  /* NULL: none */
    const char *reason;
};

#define FIELD_READ(field, read, normal)                                                            \
    {                                                                                              \
        field, IMPORT_READ, NULL, read, NULL, normal, NULL                                         \
    }
#define FIELD_AS(kind, field, to)                                                                  \
    {                                                                                              \
        field, kind, to, NULL, NULL, NULL, NULL                                                    \
    }
#define FIELD_CHOICE(field, to, choices)                                                           \
    {                                                                                              \
        field, IMPORT_CHOICE, to, NULL, choices, NULL, NULL                                        \
    }
#define FIELD_REFUSED(field, normal, reason)                                                       \
    {                                                                                              \
        field, IMPORT_REFUSED, NULL, NULL, NULL, normal, reason                                    \
    }

#define IMPORT_BY(im, value, rules)                                                                \
    import_fields(im, value, rules, sizeof(rules) / sizeof(*(rules)))

/* Read the fields of an object by its rules; unknown fields are faults. */
void import_fields(struct import *im, const json_t *object, const struct import_rule *rules,
                   size_t count);

/* --- where we are (import_reader.c) --- */

size_t import_enter(struct import *im, const char *token);
size_t import_enter_index(struct import *im, size_t index);
void import_leave(struct import *im, size_t mark);
void import_go(struct import *im, const struct import_object *object);

void import_fault(struct import *im, const char *code, const char *format, ...) TY_PRINTF(3, 4);
void import_fault_in(struct import *im, const char *token, const char *code, const char *format,
                     ...) TY_PRINTF(4, 5);
void import_warn(struct import *im, const char *code, const char *format, ...) TY_PRINTF(3, 4);

/* The value's text, or NULL and a fault. */
const char *import_text(struct import *im, const json_t *value);
/* A quantity as text, owned by the caller: text, or a whole number that stands for itself. NULL and
 * a fault for anything else. */
json_t *import_quantity(struct import *im, const json_t *value);
bool import_integer(struct import *im, const json_t *value, int64_t *number_out);
bool import_is_array(struct import *im, const json_t *value);
/* The same, and not of more than IMPORT_ITEMS. */
bool import_is_short(struct import *im, const json_t *value);
/* Whether so many more bytes may be copied to where they are used: a few lines of references can
 * stand for gigabytes. A fault when they may not, once. */
bool import_spend(struct import *im, size_t len);
bool import_is_object(struct import *im, const json_t *value);
const char *import_choose(struct import *im, const json_t *value,
                          const struct import_choice *choices);
/* A member that is absent or null is neither. */
const json_t *import_get(const json_t *object, const char *member);
const char *import_get_text(const json_t *object, const char *member);

/* --- what we fill (import_target.c) --- */

/* Put a value (taken over; NULL is a lack of memory) into the target, and note where it is from. */
void import_put(struct import *im, const char *member, json_t *value);
void import_append(struct import *im, json_t *value);
/* A member of the target becomes the target; made when it is missing. The result ends it. */
struct import_target {
    json_t *target;
    size_t to_len;
};
struct import_target import_into(struct import *im, const char *member, bool array);
struct import_target import_into_last(struct import *im); /* a new object at the array's end */
void import_back(struct import *im, struct import_target before);
/* The spec itself, or a role's values, as the target. */
void import_aim(struct import *im, struct import_role *role);
/* Note that the target's `member` comes from here. */
void import_note(struct import *im, const char *member);
/* A deep copy that owns up to a lack of memory; jansson's own loses members silently then. */
json_t *import_copy(struct import *im, const json_t *value);
/* Any allocation that may have failed: remembered. */
json_t *import_made(struct import *im, json_t *value);
void import_set(struct import *im, json_t *object, const char *member, json_t *value);

/* --- parts, one a file --- */

struct import_object *import_find(struct import *im, const char *kind, const char *name);
void import_job(struct import *im);                               /* import_job.c */
void import_pod_metadata(struct import *im, const json_t *value); /* import_metadata.c */
void import_pod(struct import *im, const json_t *template);       /* import_pod.c */
void import_container(struct import *im, const json_t *value);    /* import_container.c */
void import_command(struct import *im, const json_t *value);      /* import_program.c */
void import_arguments(struct import *im, const json_t *value);    /* import_program.c */
void import_env(struct import *im, const json_t *value);          /* import_env.c */
void import_env_from(struct import *im, const json_t *value);     /* import_env.c */
void import_resources(struct import *im, const json_t *value);    /* import_resources.c */
void import_affinity(struct import *im, const json_t *value);     /* import_placement.c */
void import_tolerations(struct import *im, const json_t *value);  /* import_placement.c */
void import_take_arguments(struct import *im, struct import_role *role, size_t skip);
/* The spec's form of a text of Kubernetes, owned by the caller; NULL and a fault. */
char *import_unescape(struct import *im, const char *text, bool argument);
void import_volumes(struct import *im, const json_t *value); /* import_volumes.c */
void import_check_volumes(struct import *im);
void import_mounts(struct import *im, const json_t *value);                 /* import_mounts.c */
void import_job_metadata(struct import *im, const json_t *value);           /* import_metadata.c */
void import_object_metadata(struct import *im, const json_t *value);        /* import_metadata.c */
void import_object_fields(struct import *im, struct import_object *object); /* import_objects.c */
void import_claim(struct import *im, const struct import_object *object, json_t *volume);
/* The content of a key of a ConfigMap as a member of files[]; false when it has no such key. */
bool import_map_entry(struct import *im, struct import_object *map, const char *key,
                      const char **text_out, bool *binary_out);
void import_use_key(struct import *im, struct import_object *map, const char *key);
void import_check_used(struct import *im);
void import_merge(struct import *im);      /* import_merge.c: the two roles become the spec */
void import_parameters(struct import *im); /* import_parameters.c */
void import_script(struct import *im);     /* import_script.c */
void import_layout(struct import *im);     /* import_layout.c: output, checkpoints, volumes */

#endif
