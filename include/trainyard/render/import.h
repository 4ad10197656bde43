/* Kubernetes objects to a job spec: a PyTorchJob with the ConfigMaps and PersistentVolumeClaims it
 * needs, from one YAML stream. Nothing is dropped silently: every field is carried into the spec,
 * or says what holds anyway, or is refused by its path. Pure. */
#ifndef TRAINYARD_RENDER_IMPORT_H
#define TRAINYARD_RENDER_IMPORT_H

#include "trainyard/base/faults.h"

#include <jansson.h>
#include <stdbool.h>

struct ty_import {
    json_t *spec;     /* a body for the contract's JobSpec, not judged yet */
    json_t *warnings; /* [{code, pointer, message}], pointers into the manifest */
    json_t *origins;  /* where members of the spec come from; for ty_import_map_faults */
};

/* Whether a document is a Kubernetes object, not a job spec. */
bool ty_import_is_manifest(const json_t *document);

/* Read a stream: the array that ty_yaml_parse_stream gives (a List stands for its items).
 * `namespace` is where the job will run (NULL: not known; the manifest's is not judged then). All
 * faults at once, each with its document and its RFC 6901 pointer into that; lines are the
 * caller's to find (ty_yaml_locate).
 *   TY_REFUSED  faults say why
 *   TY_NO_MEMORY
 * On success, and with TY_REFUSED, the caller owns *import_out: what could be read can be judged
 * further then. */
ty_status ty_import_manifest(const json_t *documents, const char *namespace,
                             struct ty_import *import_out, struct ty_faults *faults,
                             struct ty_error *err) TY_MUST_CHECK;
void ty_import_done(struct ty_import *import); /* takes an empty one */

/* Faults of the spec (all behind the first `from`) become faults of the manifest: the field that
 * the member came from, or the innermost one around it. Those that only follow from the import's
 * own, which are the first `from`, go. */
void ty_import_map_faults(const json_t *origins, struct ty_faults *faults, size_t from);

#endif
