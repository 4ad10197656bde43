ty_unit_test(events/test_hub.c ty_events)
ty_unit_test(events/test_hub_threads.c ty_events)
ty_unit_test(events/test_text.c ty_events ty_oom)
ty_unit_test(events/test_feed.c ty_events ty_oom)
