/* Kubernetes expands $(NAME) in command, args and env values: "$$" becomes "$", "$(NAME)" of a
 * known variable its value, and any other dollar sign stays. So a doubled dollar sign is a literal
 * one wherever it stands. */
#include "parts.h"

#include "trainyard/base/buf.h"
#include "trainyard/base/str.h"

/* What user text in command and args may refer to: the operator's variables (contract 2.2) and the
 * gateway's own. */
static const char *const variables[] = {
    "MASTER_ADDR",
    "MASTER_PORT",
    "WORLD_SIZE",
    "RANK",
    "PYTHONUNBUFFERED",
    "PET_MASTER_ADDR",
    "PET_MASTER_PORT",
    "PET_NODE_RANK",
    "PET_NPROC_PER_NODE",
    "PET_NNODES",
    "PET_RDZV_ENDPOINT",
    "PET_RDZV_BACKEND",
    "PET_RDZV_ID",
    "PET_RDZV_CONF",
    "PET_MAX_RESTARTS",
    "PET_STANDALONE",
    "TRAINYARD_BACKEND",
    "TRAINYARD_CHECKPOINT_DIR",
    "TRAINYARD_JOB_ID",
    "TRAINYARD_JOB_NAME",
    "TRAINYARD_OUTPUT_DIR",
    "TRAINYARD_RESUME_FROM",
    "TRAINYARD_TENSORBOARD_DIR",
};

bool ty_render_is_reference(const char *name)
{
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
        if (ty_str_equal(variables[i], name))
            return true;
    return false;
}

/* The length of "(NAME)" of a known variable at the beginning of `text`, or 0. */
static size_t reference_len(const char *text)
{
    const char *end = text[0] == '(' ? strchr(text, ')') : NULL;

    for (size_t i = 0; end && i < sizeof(variables) / sizeof(variables[0]); i++) {
        size_t len = strlen(variables[i]);

        if (len == (size_t)(end - text) - 1 && memcmp(text + 1, variables[i], len) == 0)
            return len + 2;
    }
    return 0;
}

/* The length of a reference at a dollar sign, "$(NAME)" or "$$(NAME)", or 0. */
static size_t dollars_and_reference(const char *text)
{
    size_t dollars = text[1] == '$' ? 2 : 1;
    size_t len = reference_len(text + dollars);

    return len > 0 ? dollars + len : 0;
}

static json_t *escape(const char *text, bool references)
{
    ty_auto_buf buf = {0};

    if (!strchr(text, '$'))
        return json_string(text);
    ty_buf_init(&buf, 2 * strlen(text));
    while (*text) {
        size_t plain = strcspn(text, "$");
        size_t kept = text[plain] == '$' && references ? dollars_and_reference(text + plain) : 0;

        ty_buf_add(&buf, text, plain + kept);
        text += plain + kept;
        if (kept == 0 && *text == '$') {
            ty_buf_adds(&buf, "$$");
            text++;
        }
    }
    return buf.failed == TY_OK ? json_stringn(buf.data, buf.len) : NULL;
}

json_t *ty_render_literal(const char *text)
{
    return escape(text, false);
}

json_t *ty_render_argument(const char *text)
{
    return escape(text, true);
}
