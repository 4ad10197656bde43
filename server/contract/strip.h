/* The contract without what checks of requests do not need. */
#ifndef TRAINYARD_SERVER_CONTRACT_STRIP_H
#define TRAINYARD_SERVER_CONTRACT_STRIP_H

#include <jansson.h>

/* Take out texts for people, examples, links, headers, bodies of answers and answers other than
 * successes, then the components that nothing refers to any more. */
void ty_contract_strip(json_t *document);

#endif
