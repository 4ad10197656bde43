/* Named places at which a test may have the process killed.
 *
 * Built in only with the CMake option TRAINYARD_FAILPOINTS; elsewhere the macro is nothing at all.
 * The environment says which one: TRAINYARD_FAILPOINT=store.before_commit kills the process with
 * SIGKILL when it comes to that place first, TRAINYARD_FAILPOINT=store.before_commit:3 at the third
 * time. tests/fault/test_failpoints.py has the list. */
#ifndef TRAINYARD_BASE_FAILPOINT_H
#define TRAINYARD_BASE_FAILPOINT_H

#define TY_FAILPOINT_ENV "TRAINYARD_FAILPOINT"

#ifdef TRAINYARD_FAILPOINTS
/* Does not return when it is this name's turn; "failpoint NAME" stands on standard error then. Any
 * thread; takes no lock and no memory. */
void ty_failpoint_hit(const char *name);
#define ty_failpoint(name) ty_failpoint_hit(name)
#else
#define ty_failpoint(name) ((void)0)
#endif

#endif
