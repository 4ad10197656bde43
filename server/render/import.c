/* A stream becomes a spec: its objects are sorted by kind, those that the job brings along are
 * read, then the job, and at last its two roles become one. */
#include "import.h"

#include "annotations.h"
#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"

#include <stdio.h>

/* --- sorting --- */

static const struct {
    const char *api_version;
    const char *kind;
} kinds[] = {
    {"kubeflow.org/v1", "PyTorchJob"           },
    {"v1",              "ConfigMap"            },
    {"v1",              "PersistentVolumeClaim"},
};

bool ty_import_is_manifest(const json_t *document)
{
    return json_is_string(json_object_get(document, "apiVersion")) &&
           json_is_string(json_object_get(document, "kind"));
}

static bool known_kind(const char *api_version, const char *kind)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (ty_str_equal(kinds[i].kind, kind) && ty_str_equal(kinds[i].api_version, api_version))
            return true;
    return false;
}

static bool is_second(const struct import *im, const struct import_object *object, const char *kind)
{
    for (size_t i = 0; object->name && i < im->object_count; i++)
        if (im->objects[i].name && ty_str_equal(im->objects[i].name, object->name) &&
            ty_str_equal(import_get_text(im->objects[i].json, "kind"), kind))
            return true;
    return false;
}

static void keep(struct import *im, const struct import_object *object, const char *kind)
{
    if (ty_str_equal(kind, "PyTorchJob")) {
        if (im->job.json)
            import_fault_in(im, "kind", "conflict",
                            "there is another PyTorchJob before: one job "
                            "a request");
        else
            im->job = *object;
    } else if (is_second(im, object, kind)) {
        import_fault_in(im, "metadata", "conflict", "there is another %s of that name", kind);
    } else if (im->object_count == IMPORT_OBJECTS) {
        import_fault(im, "too_many", "more than %d objects", IMPORT_OBJECTS);
    } else {
        im->objects[im->object_count++] = *object;
    }
}

static void sort_object(struct import *im, const json_t *json, size_t document, const char *at)
{
    const char *kind = import_get_text(json, "kind");
    const char *api_version = import_get_text(json, "apiVersion");
    struct import_object object = {
        .json = json,
        .name = import_get_text(json_object_get(json, "metadata"), "name"),
        .document = document,
    };

    ty_str_copy(object.at, sizeof(object.at), at);
    import_go(im, &object);
    if (!kind || !api_version)
        import_fault(im, "required", "must have an apiVersion and a kind");
    else if (!known_kind(api_version, kind))
        import_fault_in(im, "kind", "not_supported",
                        "a stream has one PyTorchJob of kubeflow.org/v1, with its ConfigMaps and "
                        "PersistentVolumeClaims of v1");
    else
        keep(im, &object, kind);
}

static void read_word(struct import *im, const json_t *value)
{
    (void)import_text(im, value);
}

static void read_list_version(struct import *im, const json_t *value)
{
    const char *text = import_text(im, value);

    if (text && !ty_str_equal(text, "v1"))
        import_fault(im, "not_supported", "a List is of v1");
}

static void read_items(struct import *im, const json_t *value)
{
    (void)im;
    (void)value; /* sorted one by one */
}

/* clang-format off */
static const struct import_rule list_metadata_rules[] = {
    FIELD_READ("resourceVersion", read_word, NULL),
    FIELD_READ("selfLink", read_word, NULL),
};
/* clang-format on */

static void read_list_metadata(struct import *im, const json_t *value)
{
    IMPORT_BY(im, value, list_metadata_rules);
}

/* clang-format off */
static const struct import_rule list_rules[] = {
    FIELD_READ("apiVersion", read_list_version, NULL),
    FIELD_READ("kind", read_word, NULL),
    FIELD_READ("metadata", read_list_metadata, NULL),
    FIELD_READ("items", read_items, NULL),
};
/* clang-format on */

static void check_list(struct import *im, const json_t *list, size_t number)
{
    const struct import_object place = {.document = number};

    import_go(im, &place);
    if (!import_get(list, "apiVersion"))
        import_fault_in(im, "apiVersion", "required", "must be v1");
    IMPORT_BY(im, list, list_rules);
}

/* A List stands for its items, as kubectl writes several objects. */
static void sort_document(struct import *im, const json_t *document, size_t number)
{
    const char *kind = import_get_text(document, "kind");
    const json_t *items = json_object_get(document, "items");
    char at[32];
    size_t index;
    json_t *item;

    if (json_is_null(document))
        return; /* nothing between two "---" */
    if (!kind || !ty_str_equal(kind, "List") || !json_is_array(items)) {
        sort_object(im, document, number, "");
        return;
    }
    check_list(im, document, number);
    json_array_foreach(items, index, item)
    {
        snprintf(at, sizeof(at), "/items/%zu", index);
        sort_object(im, item, number, at);
    }
}

static void sort_stream(struct import *im, const json_t *documents)
{
    const struct import_object nowhere = {0};
    size_t index;
    json_t *document;

    json_array_foreach(documents, index, document)
    {
        sort_document(im, document, index);
    }
    import_go(im, &nowhere);
    if (!im->job.json && !ty_faults_any(im->faults))
        import_fault(im, "required", "there is no PyTorchJob in the stream");
    const char *manager = import_get_text(
        import_get(import_get(im->job.json, "metadata"), "labels"), "app.kubernetes.io/managed-by");

    im->ours = manager && ty_str_equal(manager, "trainyard");
}

/* --- reading --- */

static void read_stream(struct import *im, const json_t *documents)
{
    import_aim(im, NULL);
    import_note(im, NULL); /* without a job, whatever the spec lacks comes from the stream */
    sort_stream(im, documents);
    for (size_t i = 0; i < im->object_count; i++)
        import_object_fields(im, &im->objects[i]);
    if (!im->job.json || im->no_memory)
        return;
    import_job(im);
    import_check_used(im);
    if (!im->no_memory && (im->roles[0].given || im->roles[1].given))
        import_merge(im);
}

static void begin_role(struct import *im, struct import_role *role, const char *name,
                       const char *scope)
{
    *role = (struct import_role){.name = name, .scope = scope, .replicas = 1};
    role->values = import_made(im, json_object());
    role->volumes = import_made(im, json_object());
    role->mounts = import_made(im, json_array());
    role->paths = import_made(im, json_object());
    role->maps = import_made(im, json_array());
    role->variables = import_made(im, json_object());
    role->named = import_made(im, json_object());
    role->own = import_made(im, json_object());
}

static void end_role(struct import_role *role)
{
    json_decref(role->values);
    json_decref(role->volumes);
    json_decref(role->mounts);
    json_decref(role->paths);
    json_decref(role->maps);
    json_decref(role->variables);
    json_decref(role->named);
    json_decref(role->own);
}

static void begin(struct import *im)
{
    im->spec = import_made(im, json_object());
    im->warnings = import_made(im, json_array());
    im->origins = import_made(im, json_object());
    im->places = import_made(im, json_object());
    im->placed = import_made(im, json_object());
    begin_role(im, &im->roles[0], "Master", "master");
    begin_role(im, &im->roles[1], "Worker", "worker");
}

static void end(struct import *im)
{
    json_decref(im->spec);
    json_decref(im->warnings);
    json_decref(im->origins);
    json_decref(im->places);
    json_decref(im->placed);
    end_role(&im->roles[0]);
    end_role(&im->roles[1]);
    for (size_t i = 0; i < im->object_count; i++) {
        json_decref(im->objects[i].create);
        json_decref(im->objects[i].keys);
    }
    free(im);
}

static ty_status finish(struct import *im, size_t before, struct ty_import *import_out,
                        struct ty_error *err)
{
    if (im->no_memory)
        return ty_fail(err, TY_NO_MEMORY, "no memory to import a manifest");
    import_out->spec = ty_steal(&im->spec);
    import_out->warnings = ty_steal(&im->warnings);
    import_out->origins = ty_steal(&im->origins);
    if (im->faults->count + im->faults->dropped > before)
        return ty_fail_code(err, TY_REFUSED, "validation_failed",
                            "the manifest holds what cannot be imported");
    return TY_OK;
}

ty_status ty_import_manifest(const json_t *documents, const char *namespace,
                             struct ty_import *import_out, struct ty_faults *faults,
                             struct ty_error *err)
{
    size_t before = faults->count + faults->dropped;
    struct import *im = calloc(1, sizeof(*im));

    if (!im)
        return ty_fail(err, TY_NO_MEMORY, "no memory to import a manifest");
    im->faults = faults;
    im->namespace = namespace;
    begin(im);
    if (!im->no_memory)
        read_stream(im, documents);
    ty_status status = finish(im, before, import_out, err);

    end(im);
    return status;
}

void ty_import_done(struct ty_import *import)
{
    json_decref(import->spec);
    json_decref(import->warnings);
    json_decref(import->origins);
    *import = (struct ty_import){0};
}
