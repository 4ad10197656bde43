-- What a tenant's jobs may ask for, a JSON document; {} allows nothing. Tenants from before go on as they were: the
-- default one may ask for everything, the others for what there was to ask for then.
ALTER TABLE tenants ADD COLUMN policy TEXT NOT NULL DEFAULT '{}';
UPDATE tenants SET policy = '{"images":["*"],"volumes":["*"],"storage_classes":["*"]}';
UPDATE tenants SET policy = '{"images":["*"],"volumes":["*"],"storage_classes":["*"],"node_labels":["*"],"tolerations":["*"],"namespaces":["*"],"priority_classes":["*"],"queues":["*"],"schedulers":["*"],"secrets":["*"]}'
    WHERE name = 'default';
-- How a clone or a restart differs from the job it was made from, as it was then: a JSON array, kept when that job goes.
ALTER TABLE job_specs ADD COLUMN changes TEXT;
