#include "parts.h"

#include <stdio.h>

void ty_render_files_name(const char *object_name, char out[TY_CHILD_NAME])
{
    snprintf(out, TY_CHILD_NAME, "%s-files", object_name);
}

void ty_render_env_name(const char *object_name, char out[TY_CHILD_NAME])
{
    snprintf(out, TY_CHILD_NAME, "%s-env", object_name);
}

bool ty_render_has_files(const struct ty_job_spec *spec)
{
    return spec->script || spec->files.count > 0;
}

bool ty_render_has_env(const struct ty_job_spec *spec)
{
    return spec->parameter_style != TY_PARAMETERS_FLAGS &&
           (spec->epochs > 0 || spec->parameters.count > 0);
}
