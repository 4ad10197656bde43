/* The container called pytorch. */
#include "import.h"

#include "trainyard/base/str.h"

#include <string.h>

enum { MASTER_PORT = 23456 };

static void read_name(struct import *im, const json_t *value)
{
    (void)import_text(im, value);
}

/* --- ports --- */

static void read_port(struct import *im, const json_t *port)
{
    const char *name = import_get_text(port, "name");
    const char *protocol = import_get_text(port, "protocol");
    bool master = name && ty_str_equal(name, "pytorchjob-port") &&
                  json_integer_value(json_object_get(port, "containerPort")) == MASTER_PORT &&
                  (!import_get(port, "protocol") || (protocol && ty_str_equal(protocol, "TCP")));
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)port, key, value)
    {
        master = master && (ty_str_equal(key, "name") || ty_str_equal(key, "containerPort") ||
                            ty_str_equal(key, "protocol") || json_is_null(value));
    }
    if (!json_is_object(port) || !master)
        import_fault(im, "not_supported",
                     "the only port is pytorchjob-port, %d, where replicas meet", MASTER_PORT);
}

static void read_ports(struct import *im, const json_t *value)
{
    size_t index;
    json_t *port;

    if (!import_is_array(im, value))
        return;
    json_array_foreach(value, index, port)
    {
        size_t mark = import_enter_index(im, index);

        if (index > 0)
            import_fault(im, "not_supported", "there is one port");
        else
            read_port(im, port);
        import_leave(im, mark);
    }
}

/* --- security --- */

static const char by_gateway[] = "is the gateway's to set";
static const char by_policy[] = "is not for jobs of a tenant";
static const char no_member[] = "the gateway has no such setting";

/* clang-format off */
static const struct import_rule security_rules[] = {
    FIELD_REFUSED("allowPrivilegeEscalation", "false", by_policy),
    FIELD_REFUSED("capabilities", "{\"drop\":[\"ALL\"]}", by_policy),
    FIELD_REFUSED("privileged", "false", by_policy),
    FIELD_REFUSED("procMount", "\"Default\"", by_policy),
    FIELD_REFUSED("seccompProfile", "{\"type\":\"RuntimeDefault\"}", by_gateway),
    FIELD_REFUSED("readOnlyRootFilesystem", "false", no_member),
    FIELD_REFUSED("runAsUser", NULL, by_gateway),
    FIELD_REFUSED("runAsGroup", NULL, by_gateway),
    FIELD_REFUSED("runAsNonRoot", "false", by_gateway),
    FIELD_REFUSED("seLinuxOptions", "{}", by_policy),
    FIELD_REFUSED("appArmorProfile", "{\"type\":\"RuntimeDefault\"}", by_policy),
    FIELD_REFUSED("windowsOptions", "{}", by_policy),
};
/* clang-format on */

static void read_security(struct import *im, const json_t *value)
{
    IMPORT_BY(im, value, security_rules);
}

/* --- pulling --- */

/* Kubernetes pulls always what may have changed behind its name, and the rest once. */
static bool pulled_always(const char *image)
{
    const char *slash = strrchr(image, '/');
    const char *tag = strchr(slash ? slash : image, ':');

    return !strchr(image, '@') && (!tag || ty_str_equal(tag, ":latest"));
}

static const struct import_choice pulls[] = {
    {"Always",       "Always"      },
    {"IfNotPresent", "IfNotPresent"},
    {NULL,           NULL          }
};

static void read_pull(struct import *im, const json_t *value)
{
    const char *image = import_get_text(im->role->values, "image");
    const char *text = import_choose(im, value, pulls);
    const char *effective = image && pulled_always(image) ? "Always" : "IfNotPresent";

    if (text && !ty_str_equal(text, effective))
        import_warn(im, "image_pull_policy_replaced",
                    "Kubernetes' own rule holds, for this image %s; name it by digest to be sure",
                    effective);
}

/* --- all --- */

/* clang-format off */
static const struct import_rule container_rules[] = {
    FIELD_READ("name", read_name, NULL),
    FIELD_AS(IMPORT_TEXT, "image", "image"),
    FIELD_READ("imagePullPolicy", read_pull, NULL),
    FIELD_READ("envFrom", import_env_from, NULL),
    FIELD_READ("env", import_env, NULL),
    FIELD_READ("command", import_command, NULL),
    FIELD_READ("args", import_arguments, NULL),
    FIELD_AS(IMPORT_TEXT, "workingDir", "working_dir"),
    FIELD_READ("resources", import_resources, NULL),
    FIELD_READ("volumeMounts", import_mounts, NULL),
    FIELD_READ("ports", read_ports, NULL),
    FIELD_READ("securityContext", read_security, NULL),
    FIELD_REFUSED("volumeDevices", "[]", by_policy),
    FIELD_REFUSED("livenessProbe", NULL, no_member),
    FIELD_REFUSED("readinessProbe", NULL, no_member),
    FIELD_REFUSED("startupProbe", NULL, no_member),
    FIELD_REFUSED("lifecycle", "{}", by_policy),
    FIELD_REFUSED("resizePolicy", "[]", no_member),
    FIELD_REFUSED("restartPolicy", NULL, "belongs under the role"),
    FIELD_REFUSED("terminationMessagePath", "\"/dev/termination-log\"", by_policy),
    FIELD_REFUSED("terminationMessagePolicy", "\"File\"", no_member),
    FIELD_REFUSED("stdin", "false", no_member),
    FIELD_REFUSED("stdinOnce", "false", no_member),
    FIELD_REFUSED("tty", "false", no_member),
};
/* clang-format on */

void import_container(struct import *im, const json_t *value)
{
    const json_t *values = im->role->values;

    IMPORT_BY(im, value, container_rules);
    if (!json_is_object(value))
        return;
    import_check_volumes(im);
    import_note(im, "command"); /* where it would stand */
    if (!import_get(value, "image"))
        import_fault_in(im, "image", "required", "is missing");
    if (!json_object_get(values, "command"))
        import_set(im, im->role->values, "command", json_array());
    if (!json_object_get(values, "working_dir") && !im->ours && !im->folder_warned &&
        json_array_size(json_object_get(values, "command")) > 0) {
        im->folder_warned = true;
        import_warn(im, "working_dir_defaulted",
                    "the program starts in /workspace, not in a folder that the image names: give "
                    "workingDir if that matters");
    }
}
