/* The choice is read before main begins, so that no thread ever sees it change; what is left to
 * count is one atomic number. They are the only globals here: a place to die at has nobody to be
 * handed a context by. */
#include "trainyard/base/failpoint.h"

#ifdef TRAINYARD_FAILPOINTS

#include "trainyard/base/str.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAME_BYTES = 64 };

static char armed[NAME_BYTES];
static atomic_int_fast64_t hits_left;

__attribute__((constructor)) static void read_environment(void)
{
    const char *value = getenv(TY_FAILPOINT_ENV);
    if (!value)
        return;
    size_t len = strcspn(value, ":");
    int64_t hits = 1;
    if (len >= sizeof(armed))
        return;
    if (value[len] == ':' && ty_str_to_int(value + len + 1, 1, INT32_MAX, &hits) != TY_OK)
        return;
    memcpy(armed, value, len);
    armed[len] = '\0';
    atomic_store(&hits_left, hits);
}

static void say(const char *text)
{
    (void)!write(STDERR_FILENO, text, strlen(text));
}

void ty_failpoint_hit(const char *name)
{
    if (!armed[0] || strcmp(armed, name) != 0 || atomic_fetch_sub(&hits_left, 1) != 1)
        return;
    say("failpoint ");
    say(name);
    say("\n");
    (void)raise(SIGKILL);
    for (;;) /* SIGKILL to oneself does not come back */
        (void)pause();
}

#else

typedef int nothing_here; /* a translation unit must not be empty */

#endif
