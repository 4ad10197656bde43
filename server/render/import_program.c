/* Command and arguments. Kubernetes replaces $(NAME) of variables it knows and takes $$ for a
 * dollar sign; the spec has every dollar sign as written, but for references to what the launcher
 * and the gateway set. */
#include "import.h"
#include "parts.h"

#include "trainyard/base/buf.h"
#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"

enum { TEXT_MAX = 4 * 1024 * 1024 };

/* The length of "(NAME)" at the beginning of `text`, or 0; the name is put out. */
static size_t reference(const char *text, char *name_out, size_t size)
{
    const char *end = text[0] == '(' ? strchr(text, ')') : NULL;

    if (!end || (size_t)(end - text) > size)
        return 0;
    memcpy(name_out, text + 1, (size_t)(end - text) - 1);
    name_out[end - text - 1] = '\0';
    return (size_t)(end - text) + 1;
}

/* What a reference stands for: text of the job's own, a reference the spec has too (NULL and
 * true), or nothing that Kubernetes would replace. */
static bool known_value(const struct import *im, const char *name, bool argument,
                        const char **text_out)
{
    const json_t *value = im->role ? json_object_get(im->role->variables, name) : NULL;

    *text_out = NULL;
    if (argument && ty_render_is_reference(name))
        return true;
    *text_out = json_string_value(value);
    return value != NULL;
}

/* One dollar sign of a Kubernetes text: append what the spec has for it, tell its length. */
static size_t take_dollar(struct import *im, const char *text, bool argument, struct ty_buf *out)
{
    char name[256];
    const char *value;
    size_t doubled = text[1] == '$' ? 1 : 0;
    size_t len = reference(text + 1 + doubled, name, sizeof(name));

    if (doubled && argument && len > 0 && ty_render_is_reference(name)) {
        ty_buf_add(out, text, 2 + len);
        return 2 + len;
    }
    if (doubled) {
        ty_buf_addc(out, '$');
        return 2;
    }
    if (len > 0 && known_value(im, name, argument, &value)) {
        if (value && import_spend(im, strlen(value)))
            ty_buf_adds(out, value);
        else if (value)
            return 1 + len;
        else if (argument && ty_render_is_reference(name))
            ty_buf_add(out, text, 1 + len);
        else
            import_fault(im, "not_supported",
                         "refers to the Secret in $(%s): read the variable in "
                         "the program",
                         name);
        return 1 + len;
    }
    ty_buf_addc(out, '$');
    return 1;
}

/* What arrives, with references marked: two texts of Kubernetes that mean the same give the same.
 */
static void meaning(const struct import *im, const char *text, bool argument, struct ty_buf *out)
{
    char name[256];
    const char *value;

    while (*text) {
        size_t len = text[0] == '$' ? reference(text + 1, name, sizeof(name)) : 0;

        if (text[0] == '$' && text[1] == '$') {
            ty_buf_addc(out, '$');
            text += 2;
        } else if (len > 0 && known_value(im, name, argument, &value)) {
            ty_buf_addf(out, value ? "%s" : "\x01%s\x01", value ? value : name);
            text += 1 + len;
        } else {
            ty_buf_addc(out, *text++);
        }
    }
}

static bool means_the_same(struct import *im, const char *before, const char *spec)
{
    ty_auto_buf wanted = {0};
    ty_auto_buf got = {0};
    ty_auto_json rendered = import_made(im, ty_render_argument(spec));

    ty_buf_init(&wanted, TEXT_MAX);
    ty_buf_init(&got, TEXT_MAX);
    meaning(im, before, true, &wanted);
    if (rendered)
        meaning(im, json_string_value(rendered), true, &got);
    im->no_memory = im->no_memory || wanted.failed || got.failed;
    return wanted.len == got.len && (got.len == 0 || memcmp(wanted.data, got.data, got.len) == 0);
}

char *import_unescape(struct import *im, const char *text, bool argument)
{
    ty_auto_buf out = {0};
    size_t before = im->faults->count + im->faults->dropped;
    const char *rest = text;

    if (im->copied > IMPORT_COPIED)
        return NULL; /* which was told */
    if (!strchr(text, '$')) {
        char *copy = strdup(text);

        im->no_memory = im->no_memory || !copy;
        return copy;
    }
    ty_buf_init(&out, TEXT_MAX);
    while (*rest) {
        size_t plain = strcspn(rest, "$");

        ty_buf_add(&out, rest, plain);
        rest += plain;
        if (*rest == '$')
            rest += take_dollar(im, rest, argument, &out);
    }
    if (out.failed == TY_NO_MEMORY) {
        im->no_memory = true;
        return NULL;
    }
    if (out.failed) {
        import_fault(im, "too_long", "is too long once its references are replaced");
        return NULL;
    }
    if (im->faults->count + im->faults->dropped > before)
        return NULL;
    char *spec = ty_buf_take(&out, NULL);

    im->no_memory = im->no_memory || !spec;
    if (spec && argument && !means_the_same(im, text, spec)) {
        import_fault(im, "not_supported", "has a dollar sign right before a reference");
        free(spec);
        return NULL;
    }
    return spec;
}

/* Texts from the `skip`-th on become the member. */
static void put_texts(struct import *im, const char *member, const json_t *array, size_t skip)
{
    size_t index;
    json_t *item;

    import_set(im, im->target, member, json_array());
    import_note(im, member);
    struct import_target before = import_into(im, member, true);

    json_array_foreach(array, index, item)
    {
        size_t mark = import_enter_index(im, index);
        const char *raw = index >= skip ? import_text(im, item) : NULL;
        ty_auto_free char *text = raw ? import_unescape(im, raw, true) : NULL;

        if (text)
            import_append(im, json_string(text));
        import_leave(im, mark);
    }
    import_back(im, before);
}

/* Whether a program starts torchrun: itself, or as the module of a Python. */
static bool starts_torchrun(const json_t *command)
{
    static const char *const modules[] = {"torch.distributed.run", "torch.distributed.launch"};

    for (size_t i = 0; i < json_array_size(command); i++) {
        const char *word = json_string_value(json_array_get(command, i));
        const char *slash = word ? strrchr(word, '/') : NULL;
        const char *base = slash ? slash + 1 : word;

        if (base && ty_str_equal(base, "torchrun"))
            return true;
        for (size_t m = 0; word && m < 2; m++)
            if (ty_str_equal(word, modules[m]))
                return true;
    }
    return false;
}

void import_command(struct import *im, const json_t *value)
{
    if (!import_is_array(im, value) || json_array_size(value) == 0)
        return;
    im->role->torchrun = starts_torchrun(value);
    im->role->command = value;
    put_texts(im, "command", value, 0);
}

/* Read later: the first of them may be parameters. */
void import_arguments(struct import *im, const json_t *value)
{
    if (!import_is_array(im, value))
        return;
    im->role->args = value;
    im->role->torchrun = im->role->torchrun || starts_torchrun(value);
    memcpy(im->role->args_at, im->at, im->at_len + 1);
}

void import_take_arguments(struct import *im, struct import_role *role, size_t skip)
{
    if (!role->args || json_array_size(role->args) <= skip)
        return;
    import_aim(im, role);
    im->document = im->job.document;
    im->at_len = strlen(role->args_at);
    memcpy(im->at, role->args_at, im->at_len + 1);
    put_texts(im, "args", role->args, skip);
    import_aim(im, NULL);
    import_go(im, &im->job);
}
