#include "statements.h"

/* In the order of enum tenant_column (tenants.c). */
#define TENANT_COLUMNS                                                                             \
    "row, name, namespace, description, max_jobs, max_queued, max_replicas, max_gpus,"             \
    " default_keep_seconds, default_timeout_seconds, created_at, updated_at, revision, policy"

/* In the order of enum token_column (tokens.c). */
#define TOKEN_COLUMNS                                                                              \
    "k.row, k.tenant, t.name, t.namespace, k.id, k.name, k.kind, k.hint, k.role, k.scopes,"        \
    " k.created_at, k.created_by, k.expires_at, k.revoked_at, k.last_used_at"

/* In the order of enum job_column (jobs_row.c); the replica list comes last and is added by each
 * statement. */
#define JOB_COLUMNS(tenant_name)                                                                   \
    "j.row, j.tenant, " tenant_name                                                                \
    ", j.id, j.name, j.object_name, j.namespace, j.state, j.cause,"                                \
    " j.run_active, j.cancel_requested, j.suspend_requested, j.sequence, j.revision, j.attempt,"   \
    " j.restarts, j.attempt_restarts, j.replicas, j.gpus, j.epochs, j.priority, j.max_retries, "   \
    "j.timeout_seconds,"                                                                           \
    " j.keep_seconds, j.created_at, j.updated_at, j.started_at, j.finished_at, j.deadline_at,"     \
    " j.retry_at, j.observed_at, j.exit_code, j.exit_signal, j.exit_replica, j.executor,"          \
    " j.origin_id, j.origin_kind, j.image, j.message, j.labels, j.description, j.warnings,"        \
    " j.elastic_min, j.elastic_max, j.first_replicas"
#define JOB_WHOLE                                                                                  \
    "SELECT " JOB_COLUMNS(                                                                         \
        "t.name") ", coalesce(r.list, '[]') FROM jobs j CROSS JOIN tenants t"                      \
                  " ON t.row = j.tenant LEFT JOIN job_replicas r ON r.job = j.row "
#define JOB_SHORT                                                                                  \
    "SELECT " JOB_COLUMNS("t.name") ", '[]' FROM jobs j CROSS JOIN tenants t ON t.row = j.tenant "

/* Of one tenant whose name is known: a look-up less for each row. */
#define JOB_PAGE "SELECT " JOB_COLUMNS("NULL") ", '[]' FROM jobs j "

/* In the order of enum volume_column (volumes.c). */
#define EVENT_COLUMNS                                                                              \
    "tenant, sequence, type, at, job, job_id, job_sequence, state, cause, attempt, from_state,"    \
    " exit_signal, exit_code, exit_replica, name, labels, message, extra"
#define VOLUME_COLUMNS                                                                             \
    "row, tenant, namespace, name, size, size_bytes, access_mode, storage_class, created_by_job,"  \
    " created_at"

static const char *const texts[TY_SQL_COUNT] = {
    [TY_SQL_BEGIN_WRITE] = "BEGIN IMMEDIATE",
    [TY_SQL_BEGIN_READ] = "BEGIN",
    [TY_SQL_COMMIT] = "COMMIT",
    [TY_SQL_ROLLBACK] = "ROLLBACK",
    [TY_SQL_SAVEPOINT] = "SAVEPOINT one",
    [TY_SQL_SAVEPOINT_BACK] = "ROLLBACK TO one",
    [TY_SQL_SAVEPOINT_END] = "RELEASE one",
    [TY_SQL_META_SET] = "INSERT INTO meta (name, value) VALUES (?1, ?2)"
                        " ON CONFLICT (name) DO UPDATE SET value = excluded.value",

    /* --- tenants --- */
    [TY_SQL_TENANT_INSERT] =
        "INSERT INTO tenants (name, namespace, description, max_jobs, max_queued, max_replicas,"
        " max_gpus, default_keep_seconds, default_timeout_seconds, created_at, updated_at,"
        " policy, revision) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, 1)",
    [TY_SQL_TENANT_COUNTERS_INSERT] =
        "INSERT INTO tenant_counters (tenant, jobs, queued, live, last_event)"
        " VALUES (?1, 0, 0, 0, 0)",
    [TY_SQL_TENANT_GET] = "SELECT " TENANT_COLUMNS " FROM tenants WHERE name = ?1",
    [TY_SQL_TENANT_NAME] = "SELECT name FROM tenants WHERE row = ?1",
    [TY_SQL_TENANT_LIST] =
        "SELECT " TENANT_COLUMNS " FROM tenants WHERE row > ?1 ORDER BY row LIMIT ?2",
    [TY_SQL_TENANT_SAVE] =
        "UPDATE tenants SET description = ?2, max_jobs = ?3, max_queued = ?4, max_replicas = ?5,"
        " max_gpus = ?6, default_keep_seconds = ?7, default_timeout_seconds = ?8, updated_at = ?9,"
        " policy = ?10, revision = revision + 1 WHERE row = ?1 RETURNING revision",
    [TY_SQL_TENANT_DELETE] = "DELETE FROM tenants WHERE row = ?1",
    [TY_SQL_TENANT_IN_USE] = "SELECT EXISTS (SELECT 1 FROM jobs WHERE tenant = ?1)"
                             " OR EXISTS (SELECT 1 FROM volumes WHERE tenant = ?1)"
                             " OR EXISTS (SELECT 1 FROM tokens WHERE tenant = ?1 AND revoked_at = 0"
                             "            AND (expires_at = 0 OR expires_at > ?2))",
    [TY_SQL_TENANT_EVENTS_DELETE] = "DELETE FROM events WHERE tenant = ?1",
    [TY_SQL_COUNTERS_GET] =
        "SELECT jobs, queued, live, last_event FROM tenant_counters WHERE tenant = ?1",
    [TY_SQL_COUNTERS_SAVE] =
        "UPDATE tenant_counters SET jobs = ?2, queued = ?3, live = ?4, last_event = ?5"
        " WHERE tenant = ?1",

    /* --- tokens --- */
    [TY_SQL_TOKEN_INSERT] =
        "INSERT INTO tokens (tenant, id, name, kind, hint, role, scopes, created_at, created_by,"
        " expires_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    [TY_SQL_TOKEN_DIGEST_INSERT] =
        "INSERT INTO token_digests (digest, token, valid_until) VALUES (?1, ?2, 0)",
    [TY_SQL_TOKEN_GET] = "SELECT " TOKEN_COLUMNS " FROM tokens k JOIN tenants t ON t.row = k.tenant"
                         " WHERE k.id = ?1 AND (?2 = 0 OR k.tenant = ?2)",
    [TY_SQL_TOKEN_LIST] =
        "SELECT " TOKEN_COLUMNS " FROM tokens k CROSS JOIN tenants t ON t.row = k.tenant"
        " WHERE k.tenant = ?1 AND k.row < ?2 ORDER BY k.row DESC LIMIT ?3",
    [TY_SQL_TOKEN_REVOKE] = "UPDATE tokens SET revoked_at = ?2 WHERE row = ?1 AND revoked_at = 0",
    [TY_SQL_TOKEN_DIGESTS_DELETE] = "DELETE FROM token_digests WHERE token = ?1",
    [TY_SQL_TOKEN_DIGESTS_END] = "UPDATE token_digests SET valid_until = ?2 WHERE token = ?1"
                                 " AND (valid_until = 0 OR valid_until > ?2)",
    [TY_SQL_TOKEN_HINT] = "UPDATE tokens SET hint = ?2 WHERE row = ?1",
    [TY_SQL_TOKEN_USED] = "UPDATE tokens SET last_used_at = ?2 WHERE row = ?1"
                          " AND last_used_at < ?2",
    [TY_SQL_TOKEN_LOAD] =
        "SELECT " TOKEN_COLUMNS ", d.digest, d.valid_until FROM token_digests d"
        " CROSS JOIN tokens k ON k.row = d.token CROSS JOIN tenants t ON t.row = k.tenant"
        " WHERE k.revoked_at = 0 AND (k.expires_at = 0 OR k.expires_at > ?1)"
        " AND (d.valid_until = 0 OR d.valid_until > ?1)",

    /* --- idempotency --- */
    [TY_SQL_IDEMPOTENCY_GET] =
        "SELECT fingerprint, job_id, status, body, created_at FROM idempotency"
        " WHERE tenant = ?1 AND key = ?2 AND route = ?3 AND created_at > ?4",
    [TY_SQL_IDEMPOTENCY_DELETE_KEY] = "DELETE FROM idempotency WHERE tenant = ?1 AND key = ?2"
                                      " AND route = ?3 AND created_at <= ?4",
    [TY_SQL_IDEMPOTENCY_INSERT] =
        "INSERT INTO idempotency (tenant, key, route, fingerprint, job_id, status, body,"
        " created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    [TY_SQL_IDEMPOTENCY_OLDEST] = "SELECT row, created_at FROM idempotency ORDER BY row LIMIT ?1",
    [TY_SQL_IDEMPOTENCY_DELETE] = "DELETE FROM idempotency WHERE row = ?1",

    /* --- jobs: writing --- */
    [TY_SQL_JOB_INSERT] =
        "INSERT INTO jobs (tenant, id, name, object_name, namespace, state, cause, live,"
        " run_active, cancel_requested, suspend_requested, sequence, revision, attempt, restarts,"
        " replicas, gpus, epochs, priority, max_retries, timeout_seconds, keep_seconds,"
        " created_at, updated_at, started_at, finished_at, deadline_at, retry_at, observed_at,"
        " exit_code, exit_signal, exit_replica, executor, origin_id, origin_kind, image, message,"
        " labels, description, warnings, attempt_restarts, elastic_min, elastic_max)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11,"
        " ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28,"
        " ?29, ?30, ?31, ?32, ?33, ?34, ?35, ?36, ?37, ?38, ?39, ?40, ?41, ?42, ?43)",
    [TY_SQL_JOB_SPEC_INSERT] = "INSERT INTO job_specs (job, spec, changes) VALUES (?1, ?2, ?3)",
    [TY_SQL_JOB_LABELS_INSERT] = "INSERT INTO job_labels (tenant, key, value, job)"
                                 " SELECT ?1, key, value, ?2 FROM json_each(?3)",
    [TY_SQL_JOB_CLAIM_INSERT] = "INSERT INTO job_claims (job, claim, namespace, tenant)"
                                " VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING",
    [TY_SQL_JOB_STEP] =
        "UPDATE jobs SET state = ?2, cause = ?3, live = ?4, run_active = ?5, cancel_requested = ?6,"
        " suspend_requested = ?7, sequence = ?8, revision = ?9, attempt = ?10, restarts = ?11,"
        " updated_at = ?12, started_at = ?13, finished_at = ?14, deadline_at = ?15, retry_at = ?16,"
        " observed_at = ?17, exit_code = ?18, exit_signal = ?19, exit_replica = ?20,"
        " message = ?21, attempt_restarts = ?22 WHERE row = ?1",
    [TY_SQL_JOB_TOUCH] =
        "UPDATE jobs SET cancel_requested = ?2, suspend_requested = ?3, restarts = ?4,"
        " observed_at = ?5, revision = ?6, deadline_at = ?7, retry_at = ?8,"
        " attempt_restarts = ?9 WHERE row = ?1",
    [TY_SQL_JOB_SETTLE] = "UPDATE jobs SET live = ?2, run_active = ?3 WHERE row = ?1",
    [TY_SQL_JOB_REPLICAS_SAVE] = "INSERT INTO job_replicas (job, list) VALUES (?1, ?2)"
                                 " ON CONFLICT (job) DO UPDATE SET list = excluded.list",
    [TY_SQL_JOB_METADATA_SAVE] = "UPDATE jobs SET labels = ?2, description = ?3, updated_at = ?4,"
                                 " revision = ?5 WHERE row = ?1",
    [TY_SQL_JOB_SIZE_SAVE] = "UPDATE jobs SET replicas = ?2, gpus = ?3, first_replicas = ?4,"
                             " updated_at = ?5, revision = ?6 WHERE row = ?1",
    [TY_SQL_JOB_SPEC_SIZE] =
        "UPDATE job_specs SET spec = json_set(spec, '$.replicas', ?2) WHERE job = ?1",
    [TY_SQL_JOBS_USE] =
        "SELECT coalesce(sum(replicas), 0), coalesce(sum(gpus), 0),"
        " coalesce(sum(replicas * (tenant = ?1)), 0), coalesce(sum(gpus * (tenant = ?1)), 0)"
        " FROM jobs WHERE live = 1 AND run_active = 1 AND row <> ?2",
    [TY_SQL_JOB_DELETE] = "DELETE FROM jobs WHERE row = ?1",
    [TY_SQL_JOB_SPEC_DELETE] = "DELETE FROM job_specs WHERE job = ?1",
    [TY_SQL_JOB_REPLICAS_DELETE] = "DELETE FROM job_replicas WHERE job = ?1",
    [TY_SQL_JOB_LABELS_DELETE] =
        "DELETE FROM job_labels WHERE (tenant, key, value, job) IN"
        " (SELECT ?1, key, value, ?2 FROM json_each((SELECT labels FROM jobs WHERE row = ?2)))",
    [TY_SQL_JOB_CLAIMS_DELETE] = "DELETE FROM job_claims WHERE job = ?1",

    /* --- jobs: reading --- */
    [TY_SQL_JOB_GET] = JOB_WHOLE "WHERE j.id = ?1 AND j.tenant = ?2",
    [TY_SQL_JOB_GET_ANY] = JOB_WHOLE "WHERE j.id = ?1",
    [TY_SQL_JOB_GET_ROW] = JOB_PAGE "WHERE j.row = ?1",
    [TY_SQL_JOB_SPEC_GET] = "SELECT spec FROM job_specs WHERE job = ?1",
    [TY_SQL_JOB_CHANGES_GET] = "SELECT changes FROM job_specs WHERE job = ?1",
    [TY_SQL_JOB_LIST_DOWN] =
        JOB_PAGE "WHERE j.tenant = ?1 AND j.row < ?2 AND j.row >= ?3 ORDER BY j.row DESC LIMIT ?4",
    [TY_SQL_JOB_LIST_UP] =
        JOB_PAGE "WHERE j.tenant = ?1 AND j.row < ?2 AND j.row >= ?3 ORDER BY j.row LIMIT ?4",
    [TY_SQL_JOB_SEEK_STATE_DOWN] = "SELECT row FROM jobs WHERE tenant = ?1 AND state = ?3"
                                   " AND row <= ?2 ORDER BY row DESC LIMIT 1",
    [TY_SQL_JOB_SEEK_STATE_UP] = "SELECT row FROM jobs WHERE tenant = ?1 AND state = ?3"
                                 " AND row >= ?2 ORDER BY row LIMIT 1",
    [TY_SQL_JOB_SEEK_LABEL_DOWN] = "SELECT job FROM job_labels WHERE tenant = ?1 AND key = ?3"
                                   " AND value = ?4 AND job <= ?2 ORDER BY job DESC LIMIT 1",
    [TY_SQL_JOB_SEEK_LABEL_UP] = "SELECT job FROM job_labels WHERE tenant = ?1 AND key = ?3"
                                 " AND value = ?4 AND job >= ?2 ORDER BY job LIMIT 1",
    [TY_SQL_JOB_SEEK_NAME_DOWN] = "SELECT row FROM jobs WHERE tenant = ?1 AND name = ?3"
                                  " AND row <= ?2 ORDER BY row DESC LIMIT 1",
    [TY_SQL_JOB_SEEK_NAME_UP] = "SELECT row FROM jobs WHERE tenant = ?1 AND name = ?3"
                                " AND row >= ?2 ORDER BY row LIMIT 1",
    [TY_SQL_JOB_SEEK_TENANT_DOWN] = "SELECT row FROM jobs WHERE tenant = ?1 AND row <= ?2"
                                    " ORDER BY row DESC LIMIT 1",
    [TY_SQL_JOB_SEEK_TENANT_UP] = "SELECT row FROM jobs WHERE tenant = ?1 AND row >= ?2"
                                  " ORDER BY row LIMIT 1",
    [TY_SQL_JOB_NAME_PREFIX] = "SELECT row FROM jobs WHERE tenant = ?1 AND name >= ?2"
                               " AND name < ?3 LIMIT ?4",
    [TY_SQL_JOB_TIME_AT] = "SELECT row, created_at FROM jobs WHERE row >= ?1 ORDER BY row LIMIT 1",
    [TY_SQL_JOB_LIVE] = JOB_SHORT "WHERE j.live = 1 AND j.row > ?1 ORDER BY j.row LIMIT ?2",
    [TY_SQL_JOB_EXPIRED_DEFAULT] =
        JOB_SHORT "WHERE j.live = 0 AND j.keep_seconds = -1 AND j.finished_at < ?1"
                  " ORDER BY j.finished_at LIMIT ?2",
    [TY_SQL_JOB_EXPIRED_OWN] =
        JOB_SHORT "WHERE j.live = 0 AND j.keep_seconds >= 0"
                  " AND j.finished_at + j.keep_seconds * 1000000 < ?1"
                  " ORDER BY j.finished_at + j.keep_seconds * 1000000 LIMIT ?2",

    /* --- transitions --- */
    [TY_SQL_TRANSITION_INSERT] =
        "INSERT INTO job_transitions (job, sequence, from_state, to_state, cause, attempt, at,"
        " message) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    [TY_SQL_TRANSITION_LIST] =
        "SELECT sequence, from_state, to_state, cause, attempt, at, message FROM job_transitions"
        " WHERE job = ?1 AND sequence > ?2 ORDER BY sequence LIMIT ?3",
    [TY_SQL_TRANSITIONS_DELETE_SOME] =
        "DELETE FROM job_transitions WHERE job = ?1 AND sequence IN"
        " (SELECT sequence FROM job_transitions WHERE job = ?1 ORDER BY sequence LIMIT ?2)",
    [TY_SQL_LEFTOVER_INSERT] = "INSERT INTO job_leftovers (job) VALUES (?1)",
    [TY_SQL_LEFTOVER_FIRST] = "SELECT job FROM job_leftovers ORDER BY job LIMIT 1",
    [TY_SQL_LEFTOVER_DELETE] = "DELETE FROM job_leftovers WHERE job = ?1",

    /* --- events --- */
    [TY_SQL_EVENT_INSERT] = "INSERT INTO events (" EVENT_COLUMNS ") VALUES (?1, ?2, ?3, ?4, ?5, ?6,"
                            " ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)",
    [TY_SQL_EVENT_LIST] = "SELECT " EVENT_COLUMNS " FROM events WHERE tenant = ?1 AND sequence > ?2"
                          " ORDER BY sequence LIMIT ?3",
    [TY_SQL_EVENT_LIST_JOB] = "SELECT " EVENT_COLUMNS " FROM events WHERE job = ?4 AND job > 0"
                              " AND tenant = ?1 AND sequence > ?2 ORDER BY sequence LIMIT ?3",
    [TY_SQL_EVENT_NOTICED] = "SELECT type, attempt, extra FROM events WHERE job = ?1 AND job > 0"
                             " AND tenant = ?2 AND type IN (7, 8, 9)",
    [TY_SQL_EVENT_FIRST] =
        "SELECT sequence FROM events WHERE tenant = ?1 ORDER BY sequence LIMIT 1",
    [TY_SQL_EVENT_TENANTS] = "SELECT row FROM tenants WHERE row > ?1 ORDER BY row LIMIT 1",
    [TY_SQL_EVENT_OLDEST] = "SELECT sequence, at FROM events WHERE tenant = ?1 ORDER BY sequence"
                            " LIMIT ?2",
    [TY_SQL_EVENT_DELETE_UP_TO] = "DELETE FROM events WHERE tenant = ?1 AND sequence <= ?2",

    /* --- volumes --- */
    [TY_SQL_VOLUME_INSERT] =
        "INSERT INTO volumes (tenant, namespace, name, size, size_bytes, access_mode,"
        " storage_class, created_by_job, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    [TY_SQL_VOLUME_GET] = "SELECT " VOLUME_COLUMNS " FROM volumes WHERE tenant = ?1 AND name = ?2",
    [TY_SQL_VOLUME_LIST] = "SELECT " VOLUME_COLUMNS " FROM volumes WHERE tenant = ?1 AND name > ?2"
                           " ORDER BY name LIMIT ?3",
    [TY_SQL_VOLUME_DELETE] = "DELETE FROM volumes WHERE row = ?1",
    [TY_SQL_VOLUME_USERS] =
        "SELECT j.id FROM job_claims c CROSS JOIN jobs j ON j.row = c.job"
        " WHERE c.namespace = (SELECT namespace FROM tenants WHERE row = ?1) AND c.claim = ?2"
        " AND c.tenant = ?1 ORDER BY c.job LIMIT ?3",
    [TY_SQL_VOLUME_WAITERS] = "SELECT c.job, j.id FROM job_claims c CROSS JOIN jobs j"
                              " ON j.row = c.job WHERE c.namespace = ?1 AND c.claim = ?2"
                              " ORDER BY c.job",
};

const char *ty_sql_text(ty_sql sql)
{
    return texts[sql];
}
