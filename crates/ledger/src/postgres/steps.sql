-- A start in one statement, and cheaper steps. A function in plain SQL that names its search path is planned anew in every transaction;
-- one in plpgsql keeps its plans for as long as the connection lasts. Each does the same as before.

CREATE OR REPLACE FUNCTION cto.queue_clock(seconds DOUBLE PRECISION) RETURNS TEXT
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
BEGIN
    RETURN to_char((clock_timestamp() + make_interval(secs => seconds)) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"');
END $$;

CREATE OR REPLACE FUNCTION cto.as_json(of_body TEXT) RETURNS JSON
LANGUAGE plpgsql IMMUTABLE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
BEGIN
    RETURN replace(of_body, '\u0000', '\ufffd')::JSON;
END $$;

CREATE OR REPLACE FUNCTION cto.entry_hash(at BIGINT, of_time TEXT, of_kind TEXT, of_run TEXT, of_body TEXT, before TEXT) RETURNS TEXT
LANGUAGE plpgsql IMMUTABLE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
BEGIN
    RETURN encode(sha256(convert_to('{"body":' || of_body || ',"kind":' || to_json(of_kind) || ',"prev":' || to_json(before)
        || ',"run_id":' || coalesce(to_json(of_run)::TEXT, 'null') || ',"seq":' || at || ',"time":' || to_json(of_time) || '}',
        'UTF8')), 'hex');
END $$;

CREATE OR REPLACE FUNCTION cto.read_head() RETURNS TABLE (seq BIGINT, hash TEXT)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
BEGIN
    RETURN QUERY SELECT e.seq, e.hash::TEXT FROM entries e ORDER BY e.seq DESC LIMIT 1;
END $$;

CREATE OR REPLACE FUNCTION cto.read_lease(wanted TEXT) RETURNS SETOF cto.leases
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
BEGIN
    RETURN QUERY SELECT * FROM leases l WHERE l.run_id = wanted;
END $$;

CREATE OR REPLACE FUNCTION cto.is_worker() RETURNS BOOLEAN
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
BEGIN
    RETURN (SELECT NOT (pg_has_role(session_user, nspowner, 'MEMBER') OR EXISTS (
            SELECT 1 FROM pg_catalog.pg_roles WHERE rolname = 'cto_operator' AND pg_has_role(session_user, oid, 'MEMBER')))
        FROM pg_catalog.pg_namespace WHERE nspname = 'cto');
END $$;

CREATE OR REPLACE FUNCTION cto.is_removed() RETURNS BOOLEAN
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
BEGIN
    RETURN EXISTS (SELECT 1 FROM workers WHERE role = session_user::TEXT AND removed);
END $$;

CREATE OR REPLACE FUNCTION cto.holds(of_run TEXT) RETURNS BOOLEAN
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
BEGIN
    RETURN NOT is_removed() AND EXISTS (SELECT 1 FROM holders WHERE run_id = of_run AND role IN (session_user::TEXT, ''));
END $$;

CREATE OR REPLACE FUNCTION cto.holds_fully(of_run TEXT) RETURNS BOOLEAN
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
BEGIN
    RETURN EXISTS (SELECT 1 FROM holders WHERE run_id = of_run AND role = session_user::TEXT AND NOT taken);
END $$;

CREATE OR REPLACE FUNCTION cto.is_run_id(of_text TEXT) RETURNS BOOLEAN
LANGUAGE plpgsql IMMUTABLE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
BEGIN
    RETURN coalesce(length(of_text) <= 128
        AND of_text ~ '^[0-9]{8}T[0-9]{6}Z-[A-Za-z0-9][A-Za-z0-9._-]{0,63}-[a-z0-9]+$', FALSE);
END $$;

CREATE OR REPLACE FUNCTION cto.is_digest(of_text TEXT) RETURNS BOOLEAN
LANGUAGE plpgsql IMMUTABLE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
BEGIN
    RETURN coalesce(of_text ~ '^[0-9a-f]{64}$', FALSE);
END $$;

CREATE OR REPLACE FUNCTION cto.has_text(body JSON, member TEXT, form TEXT) RETURNS BOOLEAN
LANGUAGE plpgsql IMMUTABLE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
BEGIN
    RETURN coalesce(json_typeof(body->member) = 'string' AND body->>member ~ form, FALSE);
END $$;

CREATE OR REPLACE FUNCTION cto.lacks(body JSON, member TEXT) RETURNS BOOLEAN
LANGUAGE plpgsql IMMUTABLE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
BEGIN
    RETURN coalesce(json_typeof(body->member) = 'null', TRUE);
END $$;

-- The part of a worker's entry that is the same whatever the ledger holds: it is checked before the lock of changes is taken.
CREATE FUNCTION cto.check_form(of_kind TEXT, of_body TEXT) RETURNS VOID
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
DECLARE
    body JSON;
BEGIN
    IF octet_length(of_body) > (CASE of_kind WHEN 'run.started' THEN 4194304 WHEN 'queue.submitted' THEN 4194304 WHEN 'engine.starting' THEN 1048576 ELSE 65536 END) THEN
        RAISE EXCEPTION 'the body of the entry is too large';
    END IF;
    body := as_json(of_body);
    IF json_typeof(body) <> 'object' OR canonical_within(body, 40) IS DISTINCT FROM replace(of_body, '\u0000', U&'\FFFD') THEN
        RAISE EXCEPTION 'the body of the entry is not in its canonical form';
    END IF;
END $$;

-- Refuses an entry that a worker may not append. Its form is checked before.
CREATE OR REPLACE FUNCTION cto.check_worker_entry(of_time TEXT, of_kind TEXT, of_run TEXT, of_body TEXT) RETURNS VOID
LANGUAGE plpgsql SECURITY DEFINER SET search_path = cto, pg_temp AS $$
DECLARE
    body JSON := as_json(of_body);
    of_whom TEXT := of_run;
BEGIN
    IF of_time COLLATE "C" > queue_clock(30) THEN
        RAISE EXCEPTION 'the entry is dated ahead of the server';
    END IF;
    IF of_run IS NOT NULL AND of_kind IN ('queue.cancelled', 'model.reserved', 'model.settled', 'run.late_refused') THEN
        RAISE EXCEPTION 'entries of kind % name their run in the body', of_kind;
    END IF;
    CASE of_kind
    WHEN 'run.started' THEN
        IF NOT EXISTS (SELECT 1 FROM queue WHERE run_id = of_run) THEN
            INSERT INTO holders VALUES (of_run, session_user, FALSE) ON CONFLICT DO NOTHING;
        END IF;
    WHEN 'engine.starting', 'approval.used', 'change.landed', 'evidence.sealed', 'evidence.collected' THEN
        NULL;
    WHEN 'queue.cancelled' THEN
        IF body->>'epoch' IS NULL THEN
            RAISE EXCEPTION 'a worker cancels under the epoch of its claim';
        END IF;
        of_whom := body->>'run_id';
    WHEN 'model.reserved', 'model.settled' THEN
        of_whom := body->>'run';
    WHEN 'run.late_refused' THEN
        IF lacks(body, 'epoch') OR NOT is_count(body->'epoch') OR octet_length(of_body) > 4096 THEN
            RAISE EXCEPTION 'the entry is no late step';
        END IF;
        PERFORM count_remark(body->>'run_id', of_kind);
        RETURN;
    WHEN 'evidence.reverified' THEN
        PERFORM check_about_bundle(of_run, body);
        PERFORM count_remark(of_run, of_kind);
        RETURN;
    ELSE
        RAISE EXCEPTION 'entries of kind % are not a worker''s', of_kind;
    END CASE;
    IF of_whom IS NULL OR NOT holds(of_whom) THEN
        RAISE EXCEPTION 'run % is not of role %', of_whom, session_user;
    END IF;
    IF of_kind IN ('engine.starting', 'approval.used', 'change.landed') AND NOT holds_fully(of_whom) THEN
        RAISE EXCEPTION 'run % was taken over, and is only sealed', of_whom;
    END IF;
    PERFORM check_worker_body(of_time, of_kind, of_run, body);
END $$;

-- Takes an entry that follows the last one, as before, and asks for the last one itself.
CREATE OR REPLACE FUNCTION cto.insert_checked(at BIGINT, of_time TEXT, of_kind TEXT, of_run TEXT, of_body TEXT, before TEXT, of_hash TEXT)
RETURNS VOID LANGUAGE plpgsql SECURITY DEFINER SET search_path = cto, pg_temp AS $$
DECLARE
    last RECORD;
BEGIN
    SELECT seq, hash INTO last FROM entries ORDER BY seq DESC LIMIT 1;
    IF at <> coalesce(last.seq, 0) + 1 OR before <> coalesce(last.hash, repeat('0', 64)) THEN
        RAISE EXCEPTION 'entry % does not follow the last one', at;
    END IF;
    IF of_hash <> entry_hash(at, of_time, of_kind, of_run, of_body, before) THEN
        RAISE EXCEPTION 'the hash of entry % is not that of the entry', at;
    END IF;
    INSERT INTO entries VALUES (at, of_time, of_kind, of_run, of_body, before, of_hash,
        CASE WHEN of_kind LIKE 'approval.%' THEN as_json(of_body)->>'request' END);
END $$;

-- Refuses an entry whose form is wrong, whatever the ledger holds.
CREATE FUNCTION cto.refuse_entry(of_time TEXT, of_kind TEXT, of_body TEXT) RETURNS VOID
LANGUAGE plpgsql SECURITY DEFINER SET search_path = cto, pg_temp AS $$
BEGIN
    PERFORM refuse_removed();
    IF NOT is_stamp(of_time) THEN
        RAISE EXCEPTION 'the entry has no time';
    END IF;
    IF is_worker() THEN
        PERFORM check_form(of_kind, of_body);
    END IF;
END $$;

-- Takes an entry of the right form, and changes the rows that it stands for. Not for workers.
CREATE FUNCTION cto.append_entry(at BIGINT, of_time TEXT, of_kind TEXT, of_run TEXT, of_body TEXT, before TEXT, of_hash TEXT)
RETURNS VOID LANGUAGE plpgsql SECURITY DEFINER SET search_path = cto, pg_temp AS $$
DECLARE
    body JSON := as_json(of_body);
BEGIN
    IF is_worker() THEN
        PERFORM check_worker_entry(of_time, of_kind, of_run, of_body);
    END IF;
    PERFORM insert_checked(at, of_time, of_kind, of_run, of_body, before, of_hash);
    PERFORM project_entry(at, of_time, of_kind, of_run, body);
    PERFORM queue_entry(at, of_time, of_kind, of_run, body);
    IF of_kind = 'run.started' THEN
        UPDATE counters SET value = value + 1 WHERE name = 'runs';
    ELSIF of_kind IN ('worker.admitted', 'worker.removed') AND body->>'role' IS NOT NULL THEN
        PERFORM note_worker(of_kind, body->>'role');
    END IF;
END $$;

CREATE OR REPLACE FUNCTION cto.insert_entry(at BIGINT, of_time TEXT, of_kind TEXT, of_run TEXT, of_body TEXT, before TEXT, of_hash TEXT)
RETURNS VOID LANGUAGE plpgsql SECURITY DEFINER SET search_path = cto, pg_temp AS $$
BEGIN
    PERFORM refuse_entry(of_time, of_kind, of_body);
    PERFORM append_entry(at, of_time, of_kind, of_run, of_body, before, of_hash);
END $$;

-- Starts a run in one statement: the lock of changes, the entry after the last one, its row and its first lease. The lock is held for as
-- long as that takes, and no client can keep it. The caller compares the row, and the hash with that of the entry it meant.
CREATE FUNCTION cto.start_run(of_time TEXT, of_run TEXT, of_body TEXT, until TEXT) RETURNS TABLE (run cto.runs, prev TEXT, hash TEXT)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
DECLARE
    last RECORD;
    body JSON;
    at BIGINT;
BEGIN
    PERFORM refuse_entry(of_time, 'run.started', of_body);
    body := as_json(of_body);
    PERFORM pg_advisory_xact_lock(x'63746f4c'::BIGINT);
    SELECT e.seq, e.hash INTO last FROM entries e ORDER BY e.seq DESC LIMIT 1;
    at := coalesce(last.seq, 0) + 1;
    prev := coalesce(last.hash, repeat('0', 64));
    hash := entry_hash(at, of_time, 'run.started', of_run, of_body, prev);
    PERFORM append_entry(at, of_time, 'run.started', of_run, of_body, prev, hash);
    IF until IS NOT NULL AND body->>'owner' IS NOT NULL THEN
        PERFORM put_lease(of_run, body->>'owner', coalesce((body->>'epoch')::BIGINT, 1), until);
    END IF;
    SELECT r.* INTO run FROM runs r WHERE r.run_id = of_run;
    RETURN NEXT;
END $$;

-- One run by its id, by a plan that is kept.
CREATE FUNCTION cto.read_run(wanted TEXT) RETURNS SETOF cto.runs
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
BEGIN
    RETURN QUERY SELECT * FROM runs r WHERE r.run_id = wanted;
END $$;

-- Entries, as before. Kinds come as a value, so that the planner knows how few of them there are: as a question of their own they look like
-- half of the ledger, and all of it is read.
CREATE OR REPLACE FUNCTION cto.all_entries(asked JSONB) RETURNS SETOF cto.entries
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
DECLARE
    conditions TEXT;
    kinds TEXT[];
BEGIN
    SELECT coalesce(string_agg(condition, ' AND '), 'TRUE') INTO conditions FROM (VALUES
        ('seq', 'seq = ($1->>''seq'')::BIGINT'),
        ('after_seq', 'seq > ($1->>''after_seq'')::BIGINT'),
        ('run_id', 'run_id = $1->>''run_id'''),
        ('kind', 'kind = $1->>''kind'''),
        ('kinds', 'kind = ANY ($2)'),
        ('models', 'kind IN (''model.reserved'', ''model.settled'')'),
        ('request', 'request = $1->>''request'''),
        ('since', 'time >= $1->>''since''')
    ) AS known (name, condition) WHERE asked ? name;
    IF asked ? 'kinds' THEN
        kinds := ARRAY(SELECT jsonb_array_elements_text(asked->'kinds'));
    END IF;
    RETURN QUERY EXECUTE format('SELECT * FROM entries WHERE %s ORDER BY seq LIMIT ($1->>''limit'')::BIGINT', conditions)
        USING asked, kinds;
END $$;

-- Takes the run whose turn it is, as before. The waiting runs are read in the order of their index, up to the first that may be taken:
-- with so many conditions the planner expects none, and would sort the whole queue for every claim, or compile the statement first.
CREATE OR REPLACE FUNCTION cto.queue_next(asked JSONB) RETURNS SETOF cto.queue
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = cto, pg_temp SET jit = off SET enable_seqscan = off SET enable_sort = off AS $$
DECLARE
    at_time TEXT;
BEGIN
    IF asked ?| ARRAY['engine_limits', 'workspace_limit', 'day_limit'] THEN
        PERFORM pg_advisory_xact_lock(x'63746f51'::BIGINT);
    END IF;
    at_time := queue_clock(0);
    IF EXISTS (SELECT 1 FROM queue q WHERE q.state = 'claimed' AND q.lease_until <= at_time) THEN
        UPDATE queue SET state = 'queued', owner = NULL, lease_until = NULL WHERE run_id IN (
            SELECT q.run_id FROM queue q WHERE q.state = 'claimed' AND q.lease_until <= at_time FOR UPDATE SKIP LOCKED);
    END IF;
    RETURN QUERY UPDATE queue SET state = 'claimed', epoch = epoch + 1, owner = asked->>'owner',
        lease_until = queue_clock((asked->>'lease_seconds')::DOUBLE PRECISION)
    WHERE run_id = (
        SELECT q.run_id FROM queue q
        WHERE q.state = 'queued' AND (q.not_before IS NULL OR q.not_before <= at_time)
        AND (NOT asked ? 'engines' OR asked->'engines' ? q.engine)
        AND q.labels::TEXT::JSONB <@ (asked->'labels')
        AND (q.after_run IS NULL OR (
            (SELECT TRUE FROM queue b WHERE b.run_id = q.after_run AND b.state IN ('queued', 'claimed', 'started') LIMIT 1) IS NULL
            AND (SELECT TRUE FROM runs r WHERE r.run_id = q.after_run AND r.sealed_seq IS NULL LIMIT 1) IS NULL))
        AND (q.target_key IS NULL
            OR (SELECT TRUE FROM queue t WHERE t.target_key = q.target_key AND t.state IN ('claimed', 'started') LIMIT 1) IS NULL)
        AND (NOT asked ? 'engine_limits' OR coalesce((SELECT count(*) FROM queue e WHERE e.engine = q.engine AND e.state IN ('claimed', 'started'))
            < (asked->'engine_limits'->>q.engine)::BIGINT, TRUE))
        AND (NOT asked ? 'workspace_limit' OR coalesce((SELECT count(*) FROM queue s WHERE s.workspace = q.workspace AND s.state IN ('claimed', 'started'))
            < (asked->>'workspace_limit')::BIGINT, TRUE))
        AND (NOT asked ? 'day_limit' OR (SELECT count(*) FROM queue d WHERE d.started_at >= left(at_time, 10) OR d.state = 'claimed')
            < (asked->>'day_limit')::BIGINT)
        ORDER BY q.priority DESC, q.seq LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING *;
EXCEPTION WHEN unique_violation THEN
    -- Another worker took a run of the same target a moment before: whoever asks again finds what is left.
    RETURN;
END $$;
