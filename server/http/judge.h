/* What is decided before a body is read. */
#ifndef TRAINYARD_HTTP_JUDGE_H
#define TRAINYARD_HTTP_JUDGE_H

struct ty_request;
struct ty_response;

/* Find the route of `request` and judge all that its head says. NULL when its handler may run, else
 * the answer. */
struct ty_response *ty_judge_head(struct ty_request *request);

#endif
