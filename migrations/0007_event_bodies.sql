-- What an event tells of its job stands in the event, so that it needs no second look and outlives the job. A change of
-- state has its state's own number: 16 and up.
ALTER TABLE events ADD COLUMN name TEXT NOT NULL DEFAULT '';
ALTER TABLE events ADD COLUMN labels TEXT NOT NULL DEFAULT '{}';
ALTER TABLE events ADD COLUMN from_state INTEGER NOT NULL DEFAULT -1; -- -1: none, or not known
ALTER TABLE events ADD COLUMN exit_code INTEGER;                      -- NULL while none is known
ALTER TABLE events ADD COLUMN exit_signal INTEGER NOT NULL DEFAULT 0;
ALTER TABLE events ADD COLUMN exit_replica TEXT NOT NULL DEFAULT '';
UPDATE events SET type = 16 + state WHERE type IN (1, 2);
-- One job's events without a walk over its tenant's.
CREATE INDEX events_job ON events (job, tenant, sequence) WHERE job > 0;
