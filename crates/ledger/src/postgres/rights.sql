-- Rights, given anew with every migration: nobody may do anything but the owner. Workers and operators may call what stands here, and
-- the functions themselves tell one from the other.
REVOKE ALL ON SCHEMA cto FROM PUBLIC, cto_worker;
REVOKE ALL ON ALL TABLES IN SCHEMA cto FROM PUBLIC, cto_worker;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA cto FROM PUBLIC, cto_worker;
GRANT USAGE ON SCHEMA cto TO cto_worker;
GRANT EXECUTE ON FUNCTION
    cto.read_meta(), cto.read_timeline(), cto.read_head(), cto.read_time_base(), cto.read_latest_time(), cto.count_rows(TEXT),
    cto.read_lease(TEXT), cto.runs_named_beside(TEXT[]), cto.find_entries(JSONB), cto.find_runs(JSONB), cto.find_requests(JSONB),
    cto.next_engine(TEXT),
    cto.insert_entry(BIGINT, TEXT, TEXT, TEXT, TEXT, TEXT, TEXT),
    cto.put_lease(TEXT, TEXT, BIGINT, TEXT), cto.renew_lease(TEXT, BIGINT, TEXT), cto.remove_lease(TEXT),
    cto.queue_clock(DOUBLE PRECISION), cto.queue_claim(JSONB), cto.find_queue(JSONB), cto.is_worker(),
    cto.keep_lease(TEXT, BIGINT, DOUBLE PRECISION), cto.queue_shorten(TEXT, BIGINT, TEXT), cto.bind_evidence(TEXT, BOOLEAN),
    cto.queue_due(), cto.start_run(TEXT, TEXT, TEXT, TEXT), cto.read_run(TEXT)
    TO cto_worker;
