#include "annotations.h"

#include <inttypes.h>
#include <stdio.h>

/* clang-format off */
const struct ty_note_row ty_note_rows[] = {
    {TY_OWN_PREFIX "description",     NULL,          "description",  TY_NOTE_TEXT},
    {TY_OWN_PREFIX "priority",        NULL,          "priority",     TY_NOTE_NUMBER},
    {TY_OWN_PREFIX "keep-seconds",    NULL,          "keep_seconds", TY_NOTE_NUMBER},
    {TY_OWN_PREFIX "max-retries",     NULL,          "max_retries",  TY_NOTE_NUMBER},
    {TY_OWN_PREFIX "suspended",       NULL,          "suspended",    TY_NOTE_SWITCH},
    {TY_OWN_PREFIX "resume",          "checkpoints", "resume",       TY_NOTE_SWITCH},
    {TY_OWN_PREFIX "keep-last",       "checkpoints", "keep_last",    TY_NOTE_NUMBER},
    {TY_OWN_PREFIX "parameter-flags", NULL,          NULL,           TY_NOTE_NUMBER},
    {NULL,                            NULL,          NULL,           TY_NOTE_TEXT},
};
/* clang-format on */

enum {
    ROW_DESCRIPTION,
    ROW_PRIORITY,
    ROW_KEEP,
    ROW_RETRIES,
    ROW_SUSPENDED,
    ROW_RESUME,
    ROW_LAST,
    ROW_FLAGS
};

static void put_number(struct ty_tree *tree, json_t *annotations, int row, int64_t number)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRId64, number);
    ty_tree_put_text(tree, annotations, ty_note_rows[row].annotation, text);
}

/* What the defaults say is left out. The operator's backoffLimit carries max_retries, but not with
 * Never; parameters that are flags alone cannot be told from args. */
void ty_render_notes(struct ty_tree *tree, const struct ty_job_spec *spec, json_t *annotations)
{
    size_t flags = spec->parameters.count + (spec->epochs > 0);

    if (spec->description)
        ty_tree_put_text(tree, annotations, ty_note_rows[ROW_DESCRIPTION].annotation,
                         spec->description);
    if (spec->priority != 0)
        put_number(tree, annotations, ROW_PRIORITY, spec->priority);
    if (spec->keep_seconds >= 0)
        put_number(tree, annotations, ROW_KEEP, spec->keep_seconds);
    if (spec->restart == TY_RESTART_NEVER && spec->max_retries > 0)
        put_number(tree, annotations, ROW_RETRIES, spec->max_retries);
    if (spec->suspended)
        ty_tree_put_text(tree, annotations, ty_note_rows[ROW_SUSPENDED].annotation, "true");
    if (spec->checkpoint_resume)
        ty_tree_put_text(tree, annotations, ty_note_rows[ROW_RESUME].annotation, "true");
    if (spec->checkpoint_keep_last > 0)
        put_number(tree, annotations, ROW_LAST, spec->checkpoint_keep_last);
    if (spec->parameter_style == TY_PARAMETERS_FLAGS && flags > 0)
        put_number(tree, annotations, ROW_FLAGS, (int64_t)flags);
}
