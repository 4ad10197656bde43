-- Claims that tenants have registered, and the claims that live jobs name (registered or not).
CREATE TABLE volumes (
    row INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant INTEGER NOT NULL REFERENCES tenants (row),
    namespace TEXT NOT NULL,
    name TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 253),
    size TEXT NOT NULL,
    size_bytes INTEGER NOT NULL CHECK (size_bytes >= 0),
    access_mode INTEGER NOT NULL CHECK (access_mode BETWEEN 0 AND 2),
    storage_class TEXT,
    created_by_job TEXT,
    created_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX volumes_claim ON volumes (namespace, name);
CREATE INDEX volumes_tenant ON volumes (tenant, name);

CREATE TABLE job_claims (
    job INTEGER NOT NULL,
    claim TEXT NOT NULL,
    namespace TEXT NOT NULL,
    tenant INTEGER NOT NULL,
    PRIMARY KEY (job, claim)
) STRICT, WITHOUT ROWID;
CREATE INDEX job_claims_claim ON job_claims (namespace, claim);
