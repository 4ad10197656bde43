/* What a body names, judged against the policy's lists: a table of the places where names stand.
 * Beside the body the walk follows what the policy itself fills in or forces; where both agree the
 * name is the policy's own and is not judged. */
#include "policy_inside.h"

#include "spec_reader.h"
#include "trainyard/base/str.h"

#include <string.h>

/* A place: members separated by '/'; "*" is each item of an array, "~" the name of each member.
 * What stands there, where it is a text, is judged by `list`. All hold below a role as well. */
struct place {
    const char *path;
    ty_policy_list list;
    bool always; /* an item without the last member names everything of its kind */
};

/* The two lists of a kind of affinity. */
#define TERMS(kind, rest, list)                                                                    \
    {"affinity/" kind "/required/*/" rest, list, false},                                           \
    {                                                                                              \
        "affinity/" kind "/preferred/*/" rest, list, false                                         \
    }

static const struct place places[] = {
    {"image",                          TY_LIST_IMAGES,           false},
    {"dataset",                        TY_LIST_VOLUMES,          false},
    {"dataset/claim",                  TY_LIST_VOLUMES,          false},
    {"output",                         TY_LIST_VOLUMES,          false},
    {"output/claim",                   TY_LIST_VOLUMES,          false},
    {"checkpoints/volume",             TY_LIST_VOLUMES,          false},
    {"checkpoints/volume/claim",       TY_LIST_VOLUMES,          false},
    {"volumes/*/claim",                TY_LIST_VOLUMES,          false},
    {"volumes/*/create/storage_class", TY_LIST_STORAGE_CLASSES,  false},
    {"secrets/*/name",                 TY_LIST_SECRETS,          false},
    {"node_selector/~",                TY_LIST_NODE_LABELS,      false},
    TERMS("node", "match/*/key", TY_LIST_NODE_LABELS),
    TERMS("node", "match_fields/*/key", TY_LIST_NODE_LABELS),
    TERMS("pods", "topology_key", TY_LIST_NODE_LABELS),
    TERMS("pods", "namespaces/*", TY_LIST_NAMESPACES),
    TERMS("pods_apart", "topology_key", TY_LIST_NODE_LABELS),
    TERMS("pods_apart", "namespaces/*", TY_LIST_NAMESPACES),
    {"tolerations/*/key",              TY_LIST_TOLERATIONS,      true },
    {"priority_class",                 TY_LIST_PRIORITY_CLASSES, false},
    {"queue",                          TY_LIST_QUEUES,           false},
    {"scheduler",                      TY_LIST_SCHEDULERS,       false},
};

/* Where the policy may itself have put something: what it forces and what it fills in, and for a
 * role also what it forces for the whole job. */
enum { OWN_MAX = 3, NAME_SHOWN = 120 };

struct spot {
    const json_t *value;
    const json_t *own[OWN_MAX];
};

struct walk {
    struct ty_spec_reader reader; /* keeps the pointer, takes the faults */
    const struct ty_policy *policy;
    const struct ty_policy_scene *scene;
    const struct place *place;
    struct ty_error *err;
    ty_status status;
};

/* Whether the policy put this very value here. Objects are looked into instead. */
static bool settled(const struct spot *spot)
{
    for (size_t i = 0; i < OWN_MAX; i++)
        if (spot->own[i] && !json_is_object(spot->own[i]) && json_equal(spot->own[i], spot->value))
            return true;
    return false;
}

static struct spot member_of(const struct spot *spot, const char *key)
{
    struct spot member = {.value = json_object_get(spot->value, key)};

    for (size_t i = 0; i < OWN_MAX; i++)
        member.own[i] = json_object_get(spot->own[i], key);
    return member;
}

static void refuse(struct walk *walk, const char *name)
{
    const struct ty_policy_list_kind *kind = &ty_policy_lists[walk->place->list];
    const struct ty_policy_names *names = &walk->policy->names[walk->place->list];

    ty_spec_fault(&walk->reader, kind->code, "%.*s is not allowed by the tenant's policy: %s %s",
                  NAME_SHOWN, name, kind->member,
                  json_array_size(names->list) > 0 ? "does not list it" : "lists none");
}

static void judge_image(struct walk *walk, const char *name)
{
    const struct ty_policy *policy = walk->policy;
    struct ty_image image;
    bool allowed = false;

    if (ty_image_parse(name, &image) != TY_OK)
        return; /* refused by the spec's own rules */
    for (size_t i = 0; i < policy->images_count && !allowed; i++)
        allowed = ty_image_matches(&policy->images[i], &image);
    if (!allowed)
        refuse(walk, name);
    if (policy->require_digest && image.digest[0] == '\0')
        ty_spec_fault(&walk->reader, "image_digest_required",
                      "must end in @sha256:…: the tenant's policy has require_digest");
}

static void judge_volume(struct walk *walk, const char *name)
{
    bool owns = false;

    if (walk->policy->names[TY_LIST_VOLUMES].given) {
        if (!ty_policy_name_listed(walk->policy, TY_LIST_VOLUMES, name))
            refuse(walk, name);
        return;
    }
    if (walk->scene->owns_volume)
        walk->status = walk->scene->owns_volume(walk->scene->context, name, &owns, walk->err);
    if (walk->status == TY_OK && !owns)
        ty_spec_fault(&walk->reader, ty_policy_lists[TY_LIST_VOLUMES].code,
                      "%.*s is not a volume of the tenant, and its policy lists no others",
                      NAME_SHOWN, name);
}

static void judge_name(struct walk *walk, const char *name)
{
    ty_policy_list list = walk->place->list;
    bool own_namespace = list == TY_LIST_NAMESPACES && ty_str_equal(name, walk->scene->namespace);

    if (list == TY_LIST_IMAGES)
        judge_image(walk, name);
    else if (list == TY_LIST_VOLUMES)
        judge_volume(walk, name);
    else if (!own_namespace && !ty_policy_name_listed(walk->policy, list, name))
        refuse(walk, name);
}

static void visit(struct walk *walk, const struct spot *spot, const char *path);

static void visit_items(struct walk *walk, const struct spot *spot, const char *path)
{
    for (size_t i = 0; i < json_array_size(spot->value); i++) {
        struct spot item = {.value = json_array_get(spot->value, i)};
        size_t mark = ty_spec_enter_index(&walk->reader, i);

        visit(walk, &item, path);
        ty_spec_leave(&walk->reader, mark);
    }
}

static void visit_names(struct walk *walk, const struct spot *spot)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)spot->value, key, value)
    {
        struct spot member = member_of(spot, key);
        size_t mark = ty_spec_enter(&walk->reader, key);

        if (!settled(&member))
            judge_name(walk, key);
        ty_spec_leave(&walk->reader, mark);
    }
}

static void visit_member(struct walk *walk, const struct spot *spot, const char *path)
{
    size_t len = strcspn(path, "/");
    char key[32];

    if (!json_is_object(spot->value))
        return;
    snprintf(key, sizeof(key), "%.*s", (int)len, path);
    struct spot member = member_of(spot, key);

    if (!member.value) {
        if (walk->place->always && path[len] == '\0')
            judge_name(walk, "*");
        return;
    }
    size_t mark = ty_spec_enter(&walk->reader, key);

    visit(walk, &member, path[len] == '/' ? path + len + 1 : "");
    ty_spec_leave(&walk->reader, mark);
}

/* `path` is what is left of the place's path below this spot. */
static void visit(struct walk *walk, const struct spot *spot, const char *path)
{
    if (walk->status != TY_OK || !spot->value || settled(spot))
        return;
    if (path[0] == '\0') {
        if (json_is_string(spot->value))
            judge_name(walk, json_string_value(spot->value));
    } else if (path[0] == '*') {
        visit_items(walk, spot, path[1] == '/' ? path + 2 : "");
    } else if (path[0] == '~') {
        visit_names(walk, spot);
    } else {
        visit_member(walk, spot, path);
    }
}

static void judge_below(struct walk *walk, const struct spot *root)
{
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        bool open = walk->policy->names[places[i].list].all;
        bool digest = places[i].list == TY_LIST_IMAGES && walk->policy->require_digest;

        walk->place = &places[i];
        if (!open || digest)
            visit(walk, root, places[i].path);
    }
}

ty_status ty_policy_judge_names(const struct ty_policy *policy, const struct ty_policy_scene *scene,
                                const json_t *body, struct ty_faults *faults, struct ty_error *err)
{
    static const char *const roles[] = {"master", "worker"};
    struct walk walk = {.policy = policy, .scene = scene, .err = err, .status = TY_OK};
    struct spot root = {
        .value = body, .own = {policy->forced, policy->defaults, NULL}
    };

    if (policy->names_nothing_to_judge)
        return TY_OK;
    ty_spec_reader_init(&walk.reader, faults);
    judge_below(&walk, &root);
    for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]) && walk.status == TY_OK; i++) {
        struct spot role = member_of(&root, roles[i]);
        size_t mark = ty_spec_enter(&walk.reader, roles[i]);

        role.own[OWN_MAX - 1] = policy->forced;
        judge_below(&walk, &role);
        ty_spec_leave(&walk.reader, mark);
    }
    return walk.status;
}
