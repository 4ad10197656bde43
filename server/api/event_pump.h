/* The events in memory, for the streams that read them. */
#ifndef TRAINYARD_API_EVENT_PUMP_H
#define TRAINYARD_API_EVENT_PUMP_H

#include "api/api.h"

#include "trainyard/events/feed.h"

struct ty_feeds *event_pump_feeds(const struct event_pump *pump);

#endif
