/* From the library's callbacks to handlers. */
#ifndef TRAINYARD_HTTP_DISPATCH_H
#define TRAINYARD_HTTP_DISPATCH_H

#include <microhttpd.h>
#include <stddef.h>

/* MHD_AccessHandlerCallback, MHD_RequestCompletedCallback, MHD_NotifyConnectionCallback; `server`
 * is the server. */
enum MHD_Result ty_dispatch(void *server, struct MHD_Connection *library, const char *url,
                            const char *method, const char *version, const char *upload,
                            size_t *upload_len, void **request_slot);
void ty_dispatch_completed(void *server, struct MHD_Connection *library, void **request_slot,
                           enum MHD_RequestTerminationCode how);
void ty_dispatch_connection(void *server, struct MHD_Connection *library, void **connection_slot,
                            enum MHD_ConnectionNotificationCode what);

#endif
