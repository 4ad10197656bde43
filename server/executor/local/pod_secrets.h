/* The keys of Secrets a run uses, by name: where the administrator puts them on this machine, a
 * file each, <data>/secrets/<namespace>/<name>/<key>. What is in them is read by the supervisor
 * alone. */
#ifndef TRAINYARD_EXECUTOR_POD_SECRETS_H
#define TRAINYARD_EXECUTOR_POD_SECRETS_H

#include "executor/local/objects.h"

#define TY_SECRETS_FOLDER "secrets" /* below the data folder */

/* Both arrays hold "<name>/<key>" once each; owned by the caller. */
struct ty_secret_plan {
    const char *folder; /* <data>/secrets/<namespace> */
    json_t *variables;
    json_t *files;
};

/* Note a key in one of the arrays and say where it stands there. TY_REFUSED for what cannot be the
 * name of a Secret or a key. */
ty_status ty_secret_note(json_t *keys, const char *name, const char *key, size_t *index_out,
                         struct ty_error *err) TY_MUST_CHECK;

#endif
