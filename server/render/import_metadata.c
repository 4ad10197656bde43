/* Names, labels and annotations. The caller's own carry no prefix (standards K3); of those with
 * one, only what the gateway itself writes is taken back. */
#include "annotations.h"
#include "import.h"

#include "trainyard/base/id.h"
#include "trainyard/base/str.h"

#include <string.h>

static const char managed_by[] = "app.kubernetes.io/managed-by";
static const char no_sidecar[] = "sidecar.istio.io/inject";
static const char local_queue[] = "kueue.x-k8s.io/queue-name";

static void read_label(struct import *im, const char *name, const json_t *value)
{
    struct import_target before = import_into(im, "labels", false);

    import_put(im, name, import_copy(im, value));
    import_back(im, before);
}

/* What the renderer writes on every object. */
static bool is_own_label(const char *key, const char *value)
{
    if (ty_str_equal(key, managed_by))
        return ty_str_equal(value, "trainyard");
    return ty_str_equal(key, TY_OWN_PREFIX "job-id") ||
           ty_str_equal(key, TY_OWN_PREFIX "job-name") || ty_str_equal(key, TY_OWN_PREFIX "tenant");
}

static void read_job_label(struct import *im, const char *key, const json_t *value)
{
    const char *text = import_text(im, value);

    if (!text || is_own_label(key, text))
        return;
    if (ty_str_equal(key, local_queue))
        import_put(im, "queue", json_string(text));
    else if (!strchr(key, '/'))
        read_label(im, key, value);
    else
        import_fault(im, "not_supported", "keys with a prefix are not the caller's to set");
}

static void read_job_labels(struct import *im, const json_t *labels)
{
    const char *key;
    json_t *value;

    if (!import_is_object(im, labels))
        return;
    json_object_foreach((json_t *)(uintptr_t)labels, key, value)
    {
        size_t mark = import_enter(im, key);

        if (!json_is_null(value))
            read_job_label(im, key, value);
        import_leave(im, mark);
    }
}

/* --- annotations --- */

static void put_note(struct import *im, const struct ty_note_row *row, const char *text)
{
    int64_t number = 0;
    json_t *value = NULL;

    if (row->kind == TY_NOTE_TEXT)
        value = import_made(im, json_string(text));
    else if (row->kind == TY_NOTE_SWITCH && ty_str_equal(text, "true"))
        value = json_true();
    else if (row->kind == TY_NOTE_NUMBER &&
             ty_str_to_int(text, -1000000, 1000000000, &number) == TY_OK)
        value = import_made(im, json_integer(number));
    if (!value) {
        import_fault(im, "wrong_type", "is not what the gateway writes here");
        return;
    }
    if (!row->member) {
        im->flags = number;
        json_decref(value);
        return;
    }
    struct import_target before = {im->target, im->to_len};

    if (row->group)
        before = import_into(im, row->group, false);
    import_put(im, row->member, value);
    import_back(im, before);
}

static const struct ty_note_row *find_note(const char *annotation)
{
    for (const struct ty_note_row *row = ty_note_rows; row->annotation; row++)
        if (ty_str_equal(row->annotation, annotation))
            return row;
    return NULL;
}

static void read_annotation(struct import *im, const char *key, const json_t *value)
{
    const char *text = import_text(im, value);
    const struct ty_note_row *row = find_note(key);

    if (!text || ty_str_equal(key, TY_HASH))
        return;
    if (row)
        put_note(im, row, text);
    else if (ty_str_starts(key, TY_LABEL_PREFIX))
        read_label(im, key + strlen(TY_LABEL_PREFIX), value);
    else
        import_fault(im, "not_supported",
                     "annotations are not carried; what people should read goes into description");
}

static void read_annotations(struct import *im, const json_t *annotations)
{
    const char *key;
    json_t *value;

    if (!import_is_object(im, annotations))
        return;
    json_object_foreach((json_t *)(uintptr_t)annotations, key, value)
    {
        size_t mark = import_enter(im, key);

        if (!json_is_null(value))
            read_annotation(im, key, value);
        import_leave(im, mark);
    }
}

/* --- namespaces --- */

static void read_namespace(struct import *im, const json_t *value)
{
    const char *text = import_text(im, value);

    if (text && im->namespace && !ty_str_equal(text, im->namespace))
        import_warn(im, "namespace_replaced", "the job runs in the tenant's namespace, %s",
                    im->namespace);
}

/* --- the metadata of pods and of the objects that the job brings along --- */

static void check_own(struct import *im, const json_t *object, bool labels)
{
    const char *key;
    json_t *value;

    if (!import_is_object(im, object))
        return;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        size_t mark = import_enter(im, key);
        const char *text = json_is_null(value) ? NULL : import_text(im, value);
        bool own = text && (labels ? is_own_label(key, text) : ty_str_equal(key, TY_HASH));
        bool mesh = text && ty_str_equal(key, no_sidecar) && ty_str_equal(text, "false");

        if (text && !own && !mesh)
            import_fault(im, "not_supported",
                         "%s of pods, ConfigMaps and claims are the gateway's own",
                         labels ? "labels" : "annotations");
        import_leave(im, mark);
    }
}

static void read_own_labels(struct import *im, const json_t *value)
{
    check_own(im, value, true);
}

static void read_own_annotations(struct import *im, const json_t *value)
{
    check_own(im, value, false);
}

static const char written_by_cluster[] = "is written by the cluster: remove it";

/* clang-format off */
/* Rows of what the cluster writes into objects. */
#define OF_THE_CLUSTER \
    FIELD_REFUSED("creationTimestamp", NULL, written_by_cluster), \
    FIELD_REFUSED("deletionGracePeriodSeconds", NULL, written_by_cluster), \
    FIELD_REFUSED("deletionTimestamp", NULL, written_by_cluster), \
    FIELD_REFUSED("generation", NULL, written_by_cluster), \
    FIELD_REFUSED("managedFields", "[]", written_by_cluster), \
    FIELD_REFUSED("resourceVersion", "\"\"", written_by_cluster), \
    FIELD_REFUSED("selfLink", "\"\"", written_by_cluster), \
    FIELD_REFUSED("uid", "\"\"", written_by_cluster)
static const struct import_rule pod_rules[] = {
    FIELD_READ("labels", read_own_labels, NULL),
    FIELD_READ("annotations", read_own_annotations, NULL),
    FIELD_REFUSED("name", NULL, "pods are named after the job: remove it"),
    FIELD_REFUSED("namespace", NULL, "pods are in the job's namespace: remove it"),
    FIELD_REFUSED("finalizers", "[]", "pods have no finalizers"),
};
/* clang-format on */

void import_pod_metadata(struct import *im, const json_t *value)
{
    IMPORT_BY(im, value, pod_rules);
}

static void read_nothing(struct import *im, const json_t *value)
{
    (void)import_text(im, value);
}

/* clang-format off */
static const struct import_rule object_rules[] = {
    FIELD_READ("name", read_nothing, NULL),
    FIELD_READ("namespace", read_namespace, NULL),
    FIELD_READ("labels", read_own_labels, NULL),
    FIELD_READ("annotations", read_own_annotations, NULL),
    FIELD_REFUSED("generateName", "\"\"", "give a name"),
    FIELD_REFUSED("finalizers", "[]", "objects of a job have no finalizers"),
    FIELD_REFUSED("ownerReferences", "[]", "the gateway owns the objects of a job"),
    OF_THE_CLUSTER,
};
/* clang-format on */

void import_object_metadata(struct import *im, const json_t *value)
{
    IMPORT_BY(im, value, object_rules);
}

/* Our renderer calls the object "<name>-<8 digits>"; a name that was changed by hand is a name. */
static bool is_object_name(const char *object_name, const char *name)
{
    size_t len = strlen(name);

    return ty_str_starts(object_name, name) && object_name[len] == '-' &&
           strlen(object_name) == len + TY_ID_SHORT;
}

/* The job's: another reader of each of the first four. */
static void read_job_name(struct import *im, const json_t *value)
{
    const char *text = import_text(im, value);
    const char *own = import_get_text(import_get(import_get(im->job.json, "metadata"), "labels"),
                                      TY_OWN_PREFIX "job-name");

    if (text)
        import_put(im, "name",
                   json_string(im->ours && own && is_object_name(text, own) ? own : text));
}

/* clang-format off */
static const struct import_rule job_rules[] = {
    FIELD_READ("name", read_job_name, NULL),
    FIELD_READ("namespace", read_namespace, NULL),
    FIELD_READ("labels", read_job_labels, NULL),
    FIELD_READ("annotations", read_annotations, NULL),
    FIELD_REFUSED("generateName", "\"\"", "give a name"),
    FIELD_REFUSED("finalizers", "[]", "a job has no finalizers"),
    FIELD_REFUSED("ownerReferences", "[]", "the gateway owns its jobs"),
    OF_THE_CLUSTER,
};
/* clang-format on */

void import_job_metadata(struct import *im, const json_t *value)
{
    IMPORT_BY(im, value, job_rules);
    if (json_is_object(value) && !import_get(value, "name"))
        import_fault_in(im, "name", "required", "is missing");
}
