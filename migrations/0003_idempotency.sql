-- Idempotency keys in order of arrival, so that the expired ones are the first rows.
CREATE TABLE idempotency (
    row INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL REFERENCES tenants (row) ON DELETE CASCADE,
    key TEXT NOT NULL CHECK (length(key) BETWEEN 1 AND 255),
    route TEXT NOT NULL,
    fingerprint BLOB NOT NULL CHECK (length(fingerprint) = 32),
    job_id TEXT,
    status INTEGER NOT NULL,
    body BLOB,
    created_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX idempotency_key ON idempotency (tenant, key, route);
