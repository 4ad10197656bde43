ty_fuzz(fuzz_event_id ty_events)
