/* What the files of tokens and of tenants share. */
#ifndef TRAINYARD_API_ACCESS_H
#define TRAINYARD_API_ACCESS_H

#include "api/api.h"

void write_token(struct ty_json_writer *writer, const struct ty_token_record *token,
                 const char *secret);
void write_scopes(struct ty_json_writer *writer, uint64_t scopes);

/* After a change of tokens or tenants: authentication must know before the answer leaves. */
ty_status reload_access(struct ty_api *api, struct ty_request *request,
                        struct ty_error *err) TY_MUST_CHECK;

#endif
