/* The secrets that a run is given as variables: read when it begins, kept in this process alone. */
#ifndef TRAINYARD_EXECUTOR_SECRETS_H
#define TRAINYARD_EXECUTOR_SECRETS_H

#include "executor/supervisor/plan.h"

/* Put the values into the environments of the plan in memory. TY_NOT_FOUND, TY_UNAVAILABLE (not
 * readable), TY_REFUSED (no text, or longer than a variable may be); err names the secret, never
 * its value. */
ty_status ty_secrets_fill(struct ty_plan *plan, struct ty_error *err) TY_MUST_CHECK;

#endif
