-- Tenants, their tokens, and the few facts that the store keeps about itself.
CREATE TABLE meta (
    name  TEXT NOT NULL PRIMARY KEY,
    value ANY
) STRICT, WITHOUT ROWID;

CREATE TABLE tenants (
    row INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 63),
    namespace TEXT NOT NULL UNIQUE CHECK (length(namespace) BETWEEN 1 AND 63),
    description TEXT,
    max_jobs INTEGER NOT NULL CHECK (max_jobs >= -1),
    max_queued INTEGER NOT NULL CHECK (max_queued >= -1),
    max_replicas INTEGER NOT NULL CHECK (max_replicas >= -1),
    max_gpus INTEGER NOT NULL CHECK (max_gpus >= -1),
    default_keep_seconds INTEGER NOT NULL CHECK (default_keep_seconds >= -1),
    default_timeout_seconds INTEGER NOT NULL CHECK (default_timeout_seconds >= 0),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    revision INTEGER NOT NULL CHECK (revision >= 1)
) STRICT;

-- Counters apart from the tenant's own row: they change with every job, so that quotas cost O(1).
CREATE TABLE tenant_counters (
    tenant INTEGER PRIMARY KEY REFERENCES tenants (row) ON DELETE CASCADE,
    jobs INTEGER NOT NULL CHECK (jobs >= 0),
    queued INTEGER NOT NULL CHECK (queued >= 0),
    live INTEGER NOT NULL CHECK (live >= 0),
    last_event INTEGER NOT NULL CHECK (last_event >= 0)
) STRICT;

CREATE TABLE tokens (
    row INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant INTEGER NOT NULL REFERENCES tenants (row) ON DELETE CASCADE,
    id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('u', 's', 'a', 'j')),
    hint TEXT NOT NULL CHECK (length(hint) <= 8),
    role INTEGER NOT NULL CHECK (role BETWEEN 0 AND 4),
    scopes INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    created_by TEXT,
    expires_at INTEGER NOT NULL CHECK (expires_at >= 0),
    revoked_at INTEGER NOT NULL DEFAULT 0 CHECK (revoked_at >= 0),
    last_used_at INTEGER NOT NULL DEFAULT 0 CHECK (last_used_at >= 0)
) STRICT;
CREATE INDEX tokens_tenant ON tokens (tenant);

-- The texts that open a token: one, or a few while older ones are in their grace time. Digests only.
CREATE TABLE token_digests (
    digest BLOB NOT NULL PRIMARY KEY CHECK (length(digest) = 32),
    token INTEGER NOT NULL REFERENCES tokens (row) ON DELETE CASCADE,
    valid_until INTEGER NOT NULL CHECK (valid_until >= 0)
) STRICT, WITHOUT ROWID;
CREATE INDEX token_digests_token ON token_digests (token);
