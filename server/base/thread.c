#include "trainyard/base/thread.h"

#include "trainyard/base/str.h"

#include <signal.h>

enum { NAME_SIZE = 16 };

ty_status ty_thread_start(pthread_t *thread_out, const char *name, void *(*run)(void *),
                          void *context, struct ty_error *err)
{
    char short_name[NAME_SIZE];
    pthread_t thread;
    sigset_t all;
    sigset_t before;
    int failed;

    /* A new thread inherits the mask, so block first: signals are for the main thread alone. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    failed = pthread_create(&thread, NULL, run, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed)
        return ty_fail(err, TY_UNAVAILABLE, "no thread could be started for %s", name);
    (void)ty_str_copy(short_name, sizeof(short_name), name);
    pthread_setname_np(thread, short_name);
    *thread_out = thread;
    return TY_OK;
}
