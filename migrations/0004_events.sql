-- The event log of each tenant. An event stands for itself: it outlives its job.
CREATE TABLE events (
    tenant INTEGER NOT NULL,
    sequence INTEGER NOT NULL CHECK (sequence >= 1),
    type INTEGER NOT NULL CHECK (type >= 1),
    at INTEGER NOT NULL,
    job INTEGER NOT NULL,
    job_id TEXT,
    job_sequence INTEGER NOT NULL,
    state INTEGER NOT NULL,
    cause INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    message TEXT NOT NULL,
    extra TEXT NOT NULL,
    PRIMARY KEY (tenant, sequence)
) STRICT, WITHOUT ROWID;
