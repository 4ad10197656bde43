#ifndef TRAINYARD_SIM_BUGS_H
#define TRAINYARD_SIM_BUGS_H

#include "world.h"

/* Which world the bugs are for; NULL = none. */
void bugs_watch(struct world *world);

#endif
