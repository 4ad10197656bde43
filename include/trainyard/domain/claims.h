/* The claims that a job's body names, each at its place. Pure. */
#ifndef TRAINYARD_DOMAIN_CLAIMS_H
#define TRAINYARD_DOMAIN_CLAIMS_H

#include <jansson.h>
#include <stdbool.h>

struct ty_named_claim {
    const char *pointer; /* RFC 6901, into the body; lives for the call */
    const char *name;
    bool read_only;
    bool create;      /* made where it is missing */
    bool master_only; /* named by the master's override */
    bool worker_only;
};
typedef bool ty_named_claim_visitor(void *context, const struct ty_named_claim *claim);

/* Every claim with a name in a body that has passed the contract, a claim that is named twice
 * twice. Returning false ends the walk. */
void ty_named_claims(const json_t *body, ty_named_claim_visitor *visit, void *context);

#endif
