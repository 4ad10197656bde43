-- How far an elastic job may be scaled; 0 = its size is fixed. `replicas` is the size it has been given last.
ALTER TABLE jobs ADD COLUMN elastic_min INTEGER NOT NULL DEFAULT 0 CHECK (elastic_min >= 0);
ALTER TABLE jobs ADD COLUMN elastic_max INTEGER NOT NULL DEFAULT 0 CHECK (elastic_max >= elastic_min);
-- The size it was submitted with, once it has been scaled; 0 before.
ALTER TABLE jobs ADD COLUMN first_replicas INTEGER NOT NULL DEFAULT 0 CHECK (first_replicas >= 0);
