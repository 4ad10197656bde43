/* A scripted executor. It keeps the promises of executor.h (a repeated apply adopts, a run ends
 * once) and is otherwise as awkward as they allow: it refuses, answers late or with a failure that
 * was none, repeats itself, mixes up the order between jobs, and tells things that are not so about
 * other runs. Its runs outlive the gateway's process. */
#ifndef TRAINYARD_SIM_FAKE_H
#define TRAINYARD_SIM_FAKE_H

#include "world.h"

struct fake *fake_create(struct world *world);
void fake_destroy(struct fake *fake);
struct ty_executor *fake_executor(struct fake *fake);

/* The gateway's process has ended; runs go on (or, with the machine, end). */
void fake_crash(struct fake *fake, bool machine);

/* Let runs go on up to the present and tell what is due. */
void fake_pump(struct fake *fake);

/* Monotonic time of the next thing that happens by itself; 0 = nothing. */
int64_t fake_next_ms(const struct fake *fake);

/* Visit runs that are alive. */
typedef void fake_visitor(void *context, const char *job_id, int32_t attempt);
void fake_visit_alive(const struct fake *fake, fake_visitor *visit, void *context);

/* How many replica restarts the runs of a job have had. */
int32_t fake_restarts(const struct fake *fake, const char *job_id);

#endif
