-- Jobs. The row holds what lists and answers need; the spec, the replicas and the history are apart, so that the pages
-- that lists walk stay few. Rows grow with submission and are never used again: they are the key of every page.
CREATE TABLE jobs (
    row INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant INTEGER NOT NULL REFERENCES tenants (row),
    id TEXT NOT NULL CHECK (length(id) BETWEEN 1 AND 39),
    name TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 63),
    object_name TEXT NOT NULL CHECK (length(object_name) BETWEEN 1 AND 63),
    namespace TEXT NOT NULL CHECK (length(namespace) BETWEEN 1 AND 63),
    state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 9),
    cause INTEGER NOT NULL CHECK (cause >= 0),
    -- a job is live until it is terminal (6 and up) and no run can exist any more
    live INTEGER NOT NULL CHECK (live = (state < 6 OR run_active = 1)),
    run_active INTEGER NOT NULL CHECK (run_active IN (0, 1)),
    cancel_requested INTEGER NOT NULL CHECK (cancel_requested IN (0, 1)),
    suspend_requested INTEGER NOT NULL CHECK (suspend_requested IN (0, 1)),
    sequence INTEGER NOT NULL CHECK (sequence >= 1),
    revision INTEGER NOT NULL CHECK (revision >= 1),
    attempt INTEGER NOT NULL CHECK (attempt >= 0),
    restarts INTEGER NOT NULL CHECK (restarts >= 0),
    attempt_restarts INTEGER NOT NULL CHECK (attempt_restarts >= 0),
    replicas INTEGER NOT NULL CHECK (replicas >= 1),
    gpus INTEGER NOT NULL CHECK (gpus >= 0),
    epochs INTEGER NOT NULL CHECK (epochs >= 0),
    priority INTEGER NOT NULL,
    max_retries INTEGER NOT NULL CHECK (max_retries >= 0),
    timeout_seconds INTEGER NOT NULL CHECK (timeout_seconds >= 0),
    keep_seconds INTEGER NOT NULL CHECK (keep_seconds BETWEEN -1 AND 3153600000),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    finished_at INTEGER NOT NULL CHECK ((finished_at > 0) = (state >= 6)),
    deadline_at INTEGER NOT NULL,
    retry_at INTEGER NOT NULL,
    observed_at INTEGER NOT NULL,
    exit_code INTEGER, -- NULL while none is known
    exit_signal INTEGER NOT NULL,
    exit_replica TEXT NOT NULL,
    executor TEXT NOT NULL CHECK (executor IN ('local', 'kubernetes')),
    origin_id TEXT,
    origin_kind TEXT CHECK (origin_kind IN ('restart', 'clone')),
    image TEXT NOT NULL,
    message TEXT NOT NULL CHECK (length(message) <= 512),
    labels TEXT NOT NULL,
    description TEXT,
    warnings TEXT NOT NULL
) STRICT;
-- (id, tenant): another tenant's job is not found within the index, at the cost of an unknown one.
CREATE UNIQUE INDEX jobs_id ON jobs (id, tenant);
CREATE UNIQUE INDEX jobs_object_name ON jobs (object_name, namespace);
-- Pages: each ends in the row, which SQLite appends.
CREATE INDEX jobs_tenant ON jobs (tenant);
CREATE INDEX jobs_state ON jobs (tenant, state);
CREATE INDEX jobs_name ON jobs (tenant, name);
CREATE INDEX jobs_live ON jobs (live) WHERE live = 1;
CREATE INDEX jobs_finished ON jobs (finished_at) WHERE live = 0 AND keep_seconds = -1;
CREATE INDEX jobs_keep_over ON jobs (finished_at + keep_seconds * 1000000)
    WHERE live = 0 AND keep_seconds >= 0;

-- What hangs on a job. No foreign keys to jobs: removal of a long history is done in pieces after the job's own row.
CREATE TABLE job_specs (
    job INTEGER PRIMARY KEY,
    spec TEXT NOT NULL
) STRICT;

CREATE TABLE job_replicas (
    job INTEGER PRIMARY KEY,
    list TEXT NOT NULL
) STRICT;

CREATE TABLE job_labels (
    tenant INTEGER NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    job INTEGER NOT NULL,
    PRIMARY KEY (tenant, key, value, job)
) STRICT, WITHOUT ROWID;

CREATE TABLE job_transitions (
    job INTEGER NOT NULL,
    sequence INTEGER NOT NULL CHECK (sequence >= 1),
    from_state INTEGER NOT NULL CHECK (from_state BETWEEN 0 AND 9),
    to_state INTEGER NOT NULL CHECK (to_state BETWEEN 0 AND 9),
    cause INTEGER NOT NULL CHECK (cause >= 0),
    attempt INTEGER NOT NULL,
    at INTEGER NOT NULL,
    message TEXT NOT NULL,
    PRIMARY KEY (job, sequence)
) STRICT, WITHOUT ROWID;

-- Jobs whose row is gone but not yet their whole history.
CREATE TABLE job_leftovers (
    job INTEGER PRIMARY KEY
) STRICT;
