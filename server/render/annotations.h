/* Members of the spec that no field of the objects shows: the gateway's own annotations on the
 * PyTorchJob keep them, so that a manifest that was taken out can be sent in again. */
#ifndef TRAINYARD_RENDER_ANNOTATIONS_H
#define TRAINYARD_RENDER_ANNOTATIONS_H

#include "trainyard/domain/spec.h"
#include "tree.h"

#define TY_OWN_PREFIX   "trainyard.dev/"
#define TY_LABEL_PREFIX "labels.trainyard.dev/"
#define TY_HASH         TY_OWN_PREFIX "spec-hash"

typedef enum { TY_NOTE_TEXT, TY_NOTE_NUMBER, TY_NOTE_SWITCH } ty_note_kind;

struct ty_note_row {
    const char *annotation;
    const char *group;  /* the object within the spec, NULL for the spec itself */
    const char *member; /* NULL: how many of the leading args are parameters */
    ty_note_kind kind;
};

/* Ends with a row without an annotation. */
extern const struct ty_note_row ty_note_rows[];

void ty_render_notes(struct ty_tree *tree, const struct ty_job_spec *spec, json_t *annotations);

#endif
