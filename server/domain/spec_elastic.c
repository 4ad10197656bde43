/* Jobs of workers that come and go, and jobs that start all at once or not at all. */
#include "spec_parts.h"

#include "trainyard/base/str.h"

enum { REPLICAS_MAX = 1000, RESTARTS_MAX = 1000, PORT_MAX = 65535, YEAR_SECONDS = 366 * 86400 };

static const char *const backends[] = {
    [TY_RENDEZVOUS_C10D] = "c10d",
    [TY_RENDEZVOUS_ETCD] = "etcd",
    [TY_RENDEZVOUS_ETCD_V2] = "etcd-v2",
    NULL,
};

struct raw_rendezvous {
    int32_t backend;
    int32_t port;
    char *host; /* moved into the spec */
    char *id;
    const json_t *conf;
};

#define RENDEZVOUS(member) offsetof(struct raw_rendezvous, member)

static const struct ty_field rendezvous_fields[] = {
    {"backend", TY_FIELD_CHOICE, RENDEZVOUS(backend), 0, 0,        backends},
    {"host",    TY_FIELD_TEXT,   RENDEZVOUS(host),    1, 253,      NULL    },
    {"port",    TY_FIELD_INT32,  RENDEZVOUS(port),    1, PORT_MAX, NULL    },
    {"id",      TY_FIELD_TEXT,   RENDEZVOUS(id),      1, 0,        NULL    },
    {"conf",    TY_FIELD_JSON,   RENDEZVOUS(conf),    0, 0,        NULL    },
};

/* An empty list of options would crash the operator (contract 1.4), so there is none. */
static void read_conf(struct ty_spec_reader *reader, const json_t *object,
                      struct ty_elastic *elastic)
{
    size_t mark = ty_spec_enter(reader, "conf");

    ty_spec_read_options(reader, object, &elastic->conf);
    if (json_is_object(object) && json_object_size(object) == 0)
        ty_spec_fault(reader, "too_short", "must name an option; leave it out instead");
    ty_spec_leave(reader, mark);
}

static void read_rendezvous(struct ty_spec_reader *reader, const json_t *object,
                            struct ty_elastic *elastic)
{
    struct raw_rendezvous raw = {0};
    size_t mark = ty_spec_enter(reader, "rendezvous");

    ty_spec_read_fields(reader, object, rendezvous_fields, 5, &raw);
    if (raw.conf)
        read_conf(reader, raw.conf, elastic);
    if (raw.host && !ty_dns1123_subdomain(raw.host))
        ty_spec_fault_in(reader, "host", "host_invalid",
                         "must be a host name in lower case or an IPv4 address");
    else if (!raw.host && raw.backend != TY_RENDEZVOUS_C10D && !json_object_get(object, "host"))
        ty_spec_fault_in(reader, "host", "required",
                         "is missing: no worker serves etcd, so say where it is");
    if (raw.id && (raw.id[0] == '\0' || !ty_spec_label_value_valid(raw.id)))
        ty_spec_fault_in(reader, "id", "id_invalid",
                         "must be 1 to 63 letters, digits, . _ and -, with a letter or digit at "
                         "both ends");
    elastic->backend = (ty_rendezvous_backend)raw.backend;
    elastic->port = raw.port;
    elastic->host = raw.host;
    elastic->id = raw.id;
    ty_spec_leave(reader, mark);
}

struct raw_elastic {
    int32_t min;
    int32_t max;
    int32_t max_restarts;
    const json_t *rendezvous;
};

#define ELASTIC(member) offsetof(struct raw_elastic, member)

static const struct ty_field elastic_fields[] = {
    {"min",          TY_FIELD_INT32, ELASTIC(min),          1, REPLICAS_MAX, NULL},
    {"max",          TY_FIELD_INT32, ELASTIC(max),          1, REPLICAS_MAX, NULL},
    {"max_restarts", TY_FIELD_INT32, ELASTIC(max_restarts), 0, RESTARTS_MAX, NULL},
    {"rendezvous",   TY_FIELD_JSON,  ELASTIC(rendezvous),   0, 0,            NULL},
};

/* The number of workers at first, where it is not given and where it is. */
static void check_replicas(struct ty_spec_reader *reader, struct ty_spec_draft *draft)
{
    struct ty_job_spec *spec = &draft->spec;
    const struct ty_elastic *elastic = &spec->elastic;

    if (spec->replicas == TY_NOT_GIVEN)
        spec->replicas = elastic->min;
    else if (elastic->max >= elastic->min &&
             (spec->replicas < elastic->min || spec->replicas > elastic->max))
        ty_spec_fault_in(reader, "replicas", "replicas_out_of_range",
                         "must lie between elastic.min (%d) and elastic.max (%d)", elastic->min,
                         elastic->max);
}

void ty_spec_read_elastic(struct ty_spec_reader *reader, struct ty_spec_draft *draft)
{
    struct raw_elastic raw = {.max_restarts = TY_NOT_GIVEN};
    struct ty_elastic *elastic = &draft->spec.elastic;

    if (!draft->elastic)
        return;
    size_t mark = ty_spec_enter(reader, "elastic");

    ty_spec_read_fields(reader, draft->elastic, elastic_fields, 4, &raw);
    for (size_t i = 0; i < 2 && json_is_object(draft->elastic); i++)
        if (!json_object_get(draft->elastic, elastic_fields[i].name))
            ty_spec_fault_in(reader, elastic_fields[i].name, "required", "is missing");
    if (raw.min > 0 && raw.max > 0 && raw.max < raw.min)
        ty_spec_fault_in(reader, "max", "max_below_min", "is less than min, %d", raw.min);
    if (raw.rendezvous)
        read_rendezvous(reader, raw.rendezvous, elastic);
    ty_spec_leave(reader, mark);
    elastic->on = true;
    elastic->min = raw.min > 0 ? raw.min : 1;
    elastic->max = raw.max > 0 ? raw.max : elastic->min;
    elastic->max_restarts = raw.max_restarts;
    if (raw.min > 0 && raw.max > 0)
        check_replicas(reader, draft);
}

void ty_spec_check_elastic(struct ty_spec_reader *reader, const struct ty_spec_draft *draft)
{
    if (!draft->spec.elastic.on)
        return;
    if (draft->master)
        ty_spec_fault_in(reader, "master", "elastic_has_no_master",
                         "an elastic job has workers only, so no master");
    if (draft->launcher == TY_LAUNCHER_PYTHON)
        ty_spec_fault_in(reader, "launcher", "elastic_needs_torchrun",
                         "must be torchrun in an elastic job");
    if (draft->spec.restart == TY_RESTART_ALWAYS)
        ty_spec_fault_in(reader, "restart", "elastic_never_ends",
                         "workers that always restart would never end the job");
}

/* --- gang --- */

static const struct ty_field gang_fields[] = {
    {"min_available",   TY_FIELD_INT32, offsetof(struct ty_gang, min_available),   1, REPLICAS_MAX,
     NULL},
    {"timeout_seconds", TY_FIELD_INT64, offsetof(struct ty_gang, timeout_seconds), 1, YEAR_SECONDS,
     NULL},
};

void ty_spec_read_gang(struct ty_spec_reader *reader, struct ty_spec_draft *draft)
{
    struct ty_gang *gang = &draft->spec.gang;
    int32_t most = draft->spec.elastic.on ? draft->spec.elastic.min : draft->spec.replicas;

    if (!draft->gang)
        return;
    size_t mark = ty_spec_enter(reader, "gang");

    ty_spec_read_fields(reader, draft->gang, gang_fields, 2, gang);
    gang->on = true;
    if (gang->min_available == 0)
        gang->min_available = most;
    else if (gang->min_available > most)
        ty_spec_fault_in(reader, "min_available", "min_available_too_large",
                         "there may be only %d replicas, so the job would never start", most);
    ty_spec_leave(reader, mark);
}

int32_t ty_spec_replicas_max(const struct ty_job_spec *spec)
{
    return spec->elastic.on ? spec->elastic.max : spec->replicas;
}

void ty_job_spec_scale(struct ty_job_spec *spec, int32_t replicas)
{
    spec->replicas = replicas;
    spec->worker.replicas = replicas;
}
