/* Names, labels and annotations of the objects: ours under one prefix, the user's labels beneath
 * it as annotations, whose values may be any text. */
#include "parts.h"

#include "trainyard/base/digest.h"
#include "trainyard/base/str.h"

/* What outlives its job carries no mark of it, so that nobody who clears away by those takes it. */
static void put_labels(struct ty_tree *tree, const struct ty_render_input *input, bool of_job,
                       json_t *labels)
{
    ty_tree_put_text(tree, labels, "app.kubernetes.io/managed-by", "trainyard");
    if (of_job) {
        ty_tree_put_text(tree, labels, "trainyard.dev/job-id", input->job_id);
        ty_tree_put_text(tree, labels, "trainyard.dev/job-name", input->spec->name);
    }
    ty_tree_put_text(tree, labels, "trainyard.dev/tenant", input->tenant);
}

void ty_render_labels(struct ty_tree *tree, const struct ty_render_input *input, json_t *labels)
{
    put_labels(tree, input, true, labels);
}

static json_t *make_object(struct ty_tree *tree, const struct ty_render_input *input,
                           const char *api_version, const char *kind, const char *name, bool of_job)
{
    json_t *object = ty_tree_object(tree);

    ty_tree_put_text(tree, object, "apiVersion", api_version);
    ty_tree_put_text(tree, object, "kind", kind);
    json_t *metadata = ty_tree_put_object(tree, object, "metadata");

    ty_tree_put_text(tree, metadata, "name", name);
    ty_tree_put_text(tree, metadata, "namespace", input->namespace);
    put_labels(tree, input, of_job, ty_tree_put_object(tree, metadata, "labels"));
    ty_tree_put_object(tree, metadata, "annotations");
    return object;
}

json_t *ty_render_object(struct ty_tree *tree, const struct ty_render_input *input,
                         const char *api_version, const char *kind, const char *name)
{
    return make_object(tree, input, api_version, kind, name, true);
}

json_t *ty_render_kept_object(struct ty_tree *tree, const struct ty_render_input *input,
                              const char *api_version, const char *kind, const char *name)
{
    return make_object(tree, input, api_version, kind, name, false);
}

bool ty_render_has_object(const json_t *objects, const char *kind, const char *name)
{
    size_t i;
    json_t *object;

    json_array_foreach(objects, i, object)
    {
        const char *its_kind = json_string_value(json_object_get(object, "kind"));
        const char *its_name =
            json_string_value(json_object_get(json_object_get(object, "metadata"), "name"));

        if (its_kind && its_name && ty_str_equal(its_kind, kind) && ty_str_equal(its_name, name))
            return true;
    }
    return false;
}

static int feed(const char *bytes, size_t len, void *stream)
{
    ty_sha256_feed(stream, bytes, len);
    return 0;
}

void ty_render_hash(struct ty_tree *tree, json_t *object)
{
    struct ty_sha256_stream *stream = NULL;
    uint8_t digest[TY_SHA256];
    char hex[TY_SHA256_HEX];
    json_t *annotations = json_object_get(json_object_get(object, "metadata"), "annotations");

    if (ty_sha256_begin(&stream) != TY_OK) {
        tree->no_memory = true;
        return;
    }
    if (json_dump_callback(object, feed, stream, JSON_COMPACT | JSON_SORT_KEYS) != 0 ||
        ty_sha256_finish(stream, digest) != TY_OK) {
        tree->no_memory = true;
    } else {
        ty_hex(digest, sizeof(digest), hex);
        ty_tree_put_text(tree, annotations, "trainyard.dev/spec-hash", hex);
    }
    ty_sha256_destroy(stream);
}
