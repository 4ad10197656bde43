/* Manifests and specs without a gateway: judged by the same rules, imported and rendered here. */
#ifndef TRAINYARD_CLI_MANIFEST_H
#define TRAINYARD_CLI_MANIFEST_H

#include "cli.h"

#include "trainyard/domain/spec.h"

/* A file that holds a job. */
struct job_file {
    const char *path; /* "-" for standard input */
    const char *bytes;
    size_t len;
};

/* Whether a stream's first document is a Kubernetes object. */
bool manifest_found(const json_t *documents);

/* A manifest as the spec it stands for. EXIT_REFUSED after every fault was said as
 * FILE:LINE:COLUMN. `namespace` NULL: not judged. What the import changed is said too. */
int manifest_import(const struct job_file *file, const json_t *documents, const char *namespace,
                    json_t **spec_out);

/* A spec as the gateway would judge it: by the contract, then by the domain. `spec_out` is the
 * caller's to destroy. EXIT_REFUSED after every fault was said. */
int manifest_judge(const char *path, const json_t *body, struct ty_job_spec **spec_out);

/* The objects of a spec, as an array. The job's id is not known here: its place holds zeros. */
int manifest_render(const struct ty_job_spec *spec, const char *namespace, json_t **objects_out);

#endif
