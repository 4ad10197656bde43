/* The pod template of a role. What a tenant may not say (standards K1, K2) and what the spec has no
 * member for is refused with the reason. */
#include "import.h"

#include "trainyard/base/str.h"

static void read_volumes(struct import *im, const json_t *value)
{
    import_volumes(im, value);
}

static void read_restart(struct import *im, const json_t *value)
{
    const char *restart = im->role->restart ? im->role->restart : "OnFailure";
    const char *effective = ty_str_equal(restart, "ExitCode") ? "Never" : restart;
    const char *text = import_text(im, value);

    if (text && !ty_str_equal(text, effective))
        import_fault(im, "not_supported",
                     "belongs beside template; the operator would overwrite it with %s", effective);
}

static void read_containers(struct import *im, const json_t *value)
{
    size_t index;
    json_t *container;
    bool found = false;

    if (!import_is_array(im, value))
        return;
    json_array_foreach(value, index, container)
    {
        const char *name = import_get_text(container, "name");
        size_t mark = import_enter_index(im, index);
        bool ours = name && ty_str_equal(name, "pytorch") && !found;

        if (ours || !json_is_object(container))
            import_container(im, container);
        else
            import_fault(im, "not_supported",
                         "a replica has one container, called pytorch: no others beside it");
        found = found || ours;
        import_leave(im, mark);
    }
    if (!found)
        import_fault(im, "required", "there must be a container called pytorch");
}

static const char by_gateway[] = "is the gateway's to set";
static const char by_policy[] = "is not for jobs of a tenant";
static const char no_member[] = "the gateway has no such setting";

/* clang-format off */
static const struct import_rule security_rules[] = {
    FIELD_REFUSED("seccompProfile", "{\"type\":\"RuntimeDefault\"}", by_gateway),
    FIELD_REFUSED("runAsUser", NULL, by_gateway),
    FIELD_REFUSED("runAsGroup", NULL, by_gateway),
    FIELD_REFUSED("runAsNonRoot", "false", by_gateway),
    FIELD_REFUSED("fsGroup", NULL, by_gateway),
    FIELD_REFUSED("fsGroupChangePolicy", NULL, by_gateway),
    FIELD_REFUSED("supplementalGroups", "[]", by_gateway),
    FIELD_REFUSED("supplementalGroupsPolicy", NULL, by_gateway),
    FIELD_REFUSED("sysctls", "[]", by_policy),
    FIELD_REFUSED("seLinuxOptions", "{}", by_policy),
    FIELD_REFUSED("appArmorProfile", "{\"type\":\"RuntimeDefault\"}", by_policy),
    FIELD_REFUSED("windowsOptions", "{}", by_policy),
};
/* clang-format on */

static void read_security(struct import *im, const json_t *value)
{
    IMPORT_BY(im, value, security_rules);
}

static void read_scheduler(struct import *im, const json_t *value)
{
    if (import_text(im, value))
        import_put(im, "scheduler", import_copy(im, value));
}

/* clang-format off */
static const struct import_rule pod_rules[] = {
    FIELD_READ("volumes", read_volumes, NULL),
    FIELD_READ("containers", read_containers, NULL),
    FIELD_AS(IMPORT_PAIRS, "nodeSelector", "node_selector"),
    FIELD_READ("affinity", import_affinity, NULL),
    FIELD_READ("tolerations", import_tolerations, NULL),
    FIELD_AS(IMPORT_TEXT, "priorityClassName", "priority_class"),
    FIELD_READ("schedulerName", read_scheduler, "\"default-scheduler\""),
    FIELD_READ("restartPolicy", read_restart, NULL),
    FIELD_READ("securityContext", read_security, NULL),
    FIELD_REFUSED("automountServiceAccountToken", "false", by_policy),
    FIELD_REFUSED("enableServiceLinks", "false", by_gateway),
    FIELD_REFUSED("terminationGracePeriodSeconds", "30", by_gateway),
    FIELD_REFUSED("dnsPolicy", "\"ClusterFirst\"", by_policy),
    FIELD_REFUSED("hostNetwork", "false", by_policy),
    FIELD_REFUSED("hostPID", "false", by_policy),
    FIELD_REFUSED("hostIPC", "false", by_policy),
    FIELD_REFUSED("hostUsers", NULL, by_policy),
    FIELD_REFUSED("shareProcessNamespace", "false", by_policy),
    FIELD_REFUSED("initContainers", "[]", "a replica has one container: do it at the start of the program"),
    FIELD_REFUSED("ephemeralContainers", "[]", by_policy),
    FIELD_REFUSED("serviceAccountName", "\"\"", by_policy),
    FIELD_REFUSED("serviceAccount", "\"\"", by_policy),
    FIELD_REFUSED("imagePullSecrets", "[]", by_gateway),
    FIELD_REFUSED("nodeName", "\"\"", "use nodeSelector or affinity"),
    FIELD_REFUSED("priority", NULL, "use priorityClassName"),
    FIELD_REFUSED("preemptionPolicy", NULL, by_policy),
    FIELD_REFUSED("runtimeClassName", NULL, by_policy),
    FIELD_REFUSED("overhead", "{}", by_policy),
    FIELD_REFUSED("resourceClaims", "[]", no_member),
    FIELD_REFUSED("topologySpreadConstraints", "[]", "use podAntiAffinity"),
    FIELD_REFUSED("hostAliases", "[]", by_policy),
    FIELD_REFUSED("hostname", "\"\"", by_policy),
    FIELD_REFUSED("subdomain", "\"\"", by_policy),
    FIELD_REFUSED("setHostnameAsFQDN", "false", by_policy),
    FIELD_REFUSED("dnsConfig", "{}", by_policy),
    FIELD_REFUSED("readinessGates", "[]", no_member),
    FIELD_REFUSED("schedulingGates", "[]", no_member),
    FIELD_REFUSED("activeDeadlineSeconds", NULL, "belongs under runPolicy"),
    FIELD_REFUSED("os", NULL, no_member),
};
/* clang-format on */

static void read_pod_spec(struct import *im, const json_t *value)
{
    IMPORT_BY(im, value, pod_rules);
    if (json_is_object(value) && !import_get(value, "containers"))
        import_fault_in(im, "containers", "required", "is missing");
}

/* clang-format off */
static const struct import_rule template_rules[] = {
    FIELD_READ("metadata", import_pod_metadata, NULL),
    FIELD_READ("spec", read_pod_spec, NULL),
};
/* clang-format on */

void import_pod(struct import *im, const json_t *template)
{
    IMPORT_BY(im, template, template_rules);
    if (json_is_object(template) && !import_get(template, "spec"))
        import_fault_in(im, "spec", "required", "is missing");
}
