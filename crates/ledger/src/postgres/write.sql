-- Functions that write. The database itself checks the chain and makes the rows of an entry, so that whoever may append can do
-- nothing but append: no row says what no entry says.

-- The bytes that an entry's hash is taken over, in canonical order.
CREATE FUNCTION cto.entry_hash(at BIGINT, of_time TEXT, of_kind TEXT, of_run TEXT, of_body TEXT, before TEXT) RETURNS TEXT
LANGUAGE sql IMMUTABLE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
    SELECT encode(sha256(convert_to('{"body":' || of_body || ',"kind":' || to_json(of_kind) || ',"prev":' || to_json(before)
        || ',"run_id":' || coalesce(to_json(of_run)::TEXT, 'null') || ',"seq":' || at || ',"time":' || to_json(of_time) || '}',
        'UTF8')), 'hex')
$$;

-- A body that members are read from. The database reads no text with a zero character, which none of them has.
CREATE FUNCTION cto.as_json(of_body TEXT) RETURNS JSON
LANGUAGE sql IMMUTABLE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
    SELECT replace(of_body, '\u0000', '\ufffd')::JSON
$$;

-- Takes an entry that follows the last one; its rows are the caller's business.
CREATE FUNCTION cto.insert_checked(at BIGINT, of_time TEXT, of_kind TEXT, of_run TEXT, of_body TEXT, before TEXT, of_hash TEXT)
RETURNS VOID LANGUAGE plpgsql SECURITY DEFINER SET search_path = cto, pg_temp AS $$
DECLARE
    last RECORD;
BEGIN
    SELECT seq, hash INTO last FROM read_head();
    IF at <> coalesce(last.seq, 0) + 1 OR before <> coalesce(last.hash, repeat('0', 64)) THEN
        RAISE EXCEPTION 'entry % does not follow the last one', at;
    END IF;
    IF of_hash <> entry_hash(at, of_time, of_kind, of_run, of_body, before) THEN
        RAISE EXCEPTION 'the hash of entry % is not that of the entry', at;
    END IF;
    INSERT INTO entries VALUES (at, of_time, of_kind, of_run, of_body, before, of_hash,
        CASE WHEN of_kind LIKE 'approval.%' THEN as_json(of_body)->>'request' END);
END $$;

CREATE FUNCTION cto.insert_entry(at BIGINT, of_time TEXT, of_kind TEXT, of_run TEXT, of_body TEXT, before TEXT, of_hash TEXT)
RETURNS VOID LANGUAGE plpgsql SECURITY DEFINER SET search_path = cto, pg_temp AS $$
BEGIN
    PERFORM insert_checked(at, of_time, of_kind, of_run, of_body, before, of_hash);
    PERFORM project_entry(at, of_time, of_kind, of_run, as_json(of_body));
    IF of_kind = 'run.started' THEN
        UPDATE counters SET value = value + 1 WHERE name = 'runs';
    END IF;
END $$;

-- Takes many entries of another ledger; project_again makes their rows. Not for workers.
CREATE FUNCTION cto.copy_entries(ats BIGINT[], times TEXT[], kinds TEXT[], of_runs TEXT[], bodies TEXT[], befores TEXT[], hashes TEXT[])
RETURNS VOID LANGUAGE plpgsql SECURITY DEFINER SET search_path = cto, pg_temp AS $$
DECLARE
    entry RECORD;
BEGIN
    FOR entry IN SELECT * FROM unnest(ats, times, kinds, of_runs, bodies, befores, hashes)
        AS copied (at, time, kind, run_id, body, prev, hash) ORDER BY at
    LOOP
        PERFORM insert_checked(entry.at, entry.time, entry.kind, entry.run_id, entry.body, entry.prev, entry.hash);
    END LOOP;
END $$;

-- Makes the rows that an entry stands for.
CREATE FUNCTION cto.project_entry(at BIGINT, of_time TEXT, of_kind TEXT, of_run TEXT, body JSON) RETURNS VOID
LANGUAGE plpgsql SECURITY DEFINER SET search_path = cto, pg_temp AS $$
BEGIN
    CASE of_kind
    WHEN 'run.started' THEN
        INSERT INTO runs (seq, run_id, suffix, task_id, engine, stage, purpose, status, started_at, reasons, owner)
        VALUES (at, of_run, regexp_replace(of_run, '^.*-', ''), body->>'task_id', body->>'engine', (body->>'stage')::SMALLINT,
            body->>'purpose', 'running', of_time, '[]', body->>'owner');
    WHEN 'evidence.sealed' THEN
        UPDATE runs SET status = body->>'status', finished_at = body->>'finished_at', duration_ms = (body->>'duration_ms')::BIGINT,
            reasons = body->>'reasons', tests_passed = (body->>'tests_passed')::BIGINT,
            tests_executed = (body->>'tests_executed')::BIGINT, attestation_sha256 = body->>'attestation_sha256',
            bundle = body->>'bundle', sealed_seq = at, owner = coalesce(body->>'owner', owner),
            source_id = body#>>'{identity,source_id}',
            -- An empty model is none, so that identities have an order; without a source the identity is not known.
            model = CASE WHEN body#>>'{identity,source_id}' IS NOT NULL THEN
                coalesce((body#>>'{identity,model,provider}') || '/' || (body#>>'{identity,model,model}'), '') END
        WHERE run_id = of_run AND sealed_seq IS NULL;
    WHEN 'evidence.collected' THEN
        UPDATE runs SET collected_seq = coalesce(collected_seq, at) WHERE run_id = of_run;
    WHEN 'operator.outcome.recorded' THEN
        UPDATE runs SET outcome_seq = at WHERE run_id = of_run AND json_typeof(body->'signature') = 'string';
    WHEN 'approval.requested' THEN
        INSERT INTO requests (request, seq, task_id, stage, requested_at)
        VALUES (body->>'request', at, body->>'task_id', (body->>'stage')::SMALLINT, of_time);
    WHEN 'approval.granted' THEN UPDATE requests SET grants = grants + 1 WHERE request = body->>'request';
    WHEN 'approval.denied' THEN UPDATE requests SET denied_seq = at WHERE request = body->>'request';
    WHEN 'approval.held' THEN UPDATE requests SET held_seq = at WHERE request = body->>'request';
    WHEN 'approval.released' THEN UPDATE requests SET held_seq = NULL WHERE request = body->>'request';
    WHEN 'approval.revoked' THEN UPDATE requests SET revoked_seq = at WHERE request = body->>'request';
    WHEN 'approval.used' THEN
        UPDATE requests SET used_seq = at, used_by = of_run WHERE request = body->>'request' AND used_seq IS NULL;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'the request of entry % cannot be used again', at;
        END IF;
    WHEN 'ledger.continued' THEN
        IF body->'time_went_back' IS NOT NULL THEN
            INSERT INTO meta VALUES ('time_base', at::TEXT) ON CONFLICT (key) DO UPDATE SET value = at::TEXT;
        END IF;
    ELSE
        NULL;
    END CASE;
END $$;

-- Throws the rows away and makes them again from the entries. Not for workers.
CREATE FUNCTION cto.project_again() RETURNS VOID
LANGUAGE plpgsql SECURITY DEFINER SET search_path = cto, pg_temp AS $$
DECLARE
    entry RECORD;
BEGIN
    DELETE FROM runs;
    DELETE FROM requests;
    DELETE FROM meta WHERE key = 'time_base';
    FOR entry IN SELECT * FROM entries ORDER BY seq LOOP
        PERFORM project_entry(entry.seq, entry.time, entry.kind, entry.run_id, as_json(entry.body));
    END LOOP;
    -- Once at the end: a row that one transaction changes many times costs more each time.
    INSERT INTO counters SELECT 'runs', count(*) FROM runs ON CONFLICT (name) DO UPDATE SET value = excluded.value;
END $$;

-- A first lease, or one that follows the last: an epoch is never given twice.
CREATE FUNCTION cto.put_lease(of_run TEXT, of_owner TEXT, of_epoch BIGINT, until TEXT) RETURNS VOID
LANGUAGE plpgsql SECURITY DEFINER SET search_path = cto, pg_temp AS $$
BEGIN
    IF of_epoch <> coalesce((SELECT epoch FROM leases WHERE run_id = of_run), 0) + 1 THEN
        RAISE EXCEPTION 'the lease of run % has another epoch', of_run;
    END IF;
    INSERT INTO leases VALUES (of_run, of_owner, of_epoch, until)
    ON CONFLICT (run_id) DO UPDATE SET owner = of_owner, epoch = of_epoch, lease_until = until;
END $$;

CREATE FUNCTION cto.renew_lease(of_run TEXT, of_epoch BIGINT, until TEXT) RETURNS BOOLEAN
LANGUAGE plpgsql SECURITY DEFINER SET search_path = cto, pg_temp AS $$
BEGIN
    UPDATE leases SET lease_until = until WHERE run_id = of_run AND epoch = of_epoch;
    RETURN FOUND;
END $$;

-- The lease of a sealed run: that of a live one stays.
CREATE FUNCTION cto.remove_lease(of_run TEXT) RETURNS VOID
LANGUAGE sql SECURITY DEFINER SET search_path = cto, pg_temp AS $$
    DELETE FROM leases WHERE run_id = of_run
        AND EXISTS (SELECT 1 FROM runs WHERE runs.run_id = of_run AND sealed_seq IS NOT NULL)
$$;

-- Gives an empty ledger the name of the one that is moved into it. Not for workers.
CREATE FUNCTION cto.adopt_ledger(id TEXT) RETURNS VOID
LANGUAGE plpgsql SECURITY DEFINER SET search_path = cto, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM entries) THEN
        RAISE EXCEPTION 'the ledger has entries';
    END IF;
    UPDATE meta SET value = id WHERE key = 'ledger_id';
END $$;
