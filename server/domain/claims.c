#include "trainyard/domain/claims.h"

#include <stdio.h>

enum { POINTER = 96 };

struct walk {
    ty_named_claim_visitor *visit;
    void *context;
    bool ended;
};

/* `value` is a name, or an object with `claim`; anything else names none. */
static void look(struct walk *walk, const json_t *value, const char *pointer, bool read_only,
                 struct ty_named_claim claim)
{
    const json_t *given = json_object_get(value, "read_only");
    char inner[POINTER];

    claim.name = json_string_value(value);
    claim.pointer = pointer;
    claim.read_only = given ? json_is_true(given) : read_only;
    if (!claim.name) {
        claim.name = json_string_value(json_object_get(value, "claim"));
        snprintf(inner, sizeof(inner), "%s/claim", pointer);
        claim.pointer = inner;
    }
    if (claim.name && !walk->ended)
        walk->ended = !walk->visit(walk->context, &claim);
}

static void look_at_volumes(struct walk *walk, const json_t *holder, const char *prefix,
                            struct ty_named_claim claim)
{
    const json_t *volumes = json_object_get(holder, "volumes");
    char pointer[POINTER];

    for (size_t i = 0; i < json_array_size(volumes); i++) {
        const json_t *volume = json_array_get(volumes, i);

        snprintf(pointer, sizeof(pointer), "%s/volumes/%zu", prefix, i);
        claim.create = json_object_get(volume, "create");
        look(walk, volume, pointer, false, claim);
    }
}

void ty_named_claims(const json_t *body, ty_named_claim_visitor *visit, void *context)
{
    const json_t *checkpoints = json_object_get(body, "checkpoints");
    const struct ty_named_claim both = {0};
    struct walk walk = {.visit = visit, .context = context};

    look(&walk, json_object_get(body, "dataset"), "/dataset", true, both);
    look(&walk, json_object_get(body, "output"), "/output", false, both);
    look(&walk, json_object_get(checkpoints, "volume"), "/checkpoints/volume", false, both);
    look_at_volumes(&walk, body, "", both);
    look_at_volumes(&walk, json_object_get(body, "master"), "/master",
                    (struct ty_named_claim){.master_only = true});
    look_at_volumes(&walk, json_object_get(body, "worker"), "/worker",
                    (struct ty_named_claim){.worker_only = true});
}
