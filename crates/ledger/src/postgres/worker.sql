-- What a worker's role may say: steps of the runs that it has, and nothing about others. A role that owns the schema, or is a member of
-- cto_operator, is a machine where people submit, approve and vouch; it may append whatever follows.

-- Without the right to make roles, somebody else makes it.
DO $$ BEGIN CREATE ROLE cto_operator NOLOGIN IN ROLE cto_worker;
EXCEPTION WHEN duplicate_object OR unique_violation OR insufficient_privilege THEN NULL; END $$;

-- The role that had a run last, by the name under which it logged in. An empty name stands for runs from before there were names.
CREATE TABLE cto.holders (
    run_id cto.word PRIMARY KEY,
    role cto.word NOT NULL
);
INSERT INTO cto.holders SELECT run_id, '' FROM cto.leases;
INSERT INTO cto.holders SELECT run_id, '' FROM cto.queue WHERE state = 'claimed' ON CONFLICT DO NOTHING;

CREATE FUNCTION cto.is_worker() RETURNS BOOLEAN
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
    SELECT NOT (pg_has_role(session_user, nspowner, 'MEMBER') OR EXISTS (
        SELECT 1 FROM pg_catalog.pg_roles WHERE rolname = 'cto_operator' AND pg_has_role(session_user, oid, 'MEMBER')))
    FROM pg_catalog.pg_namespace WHERE nspname = 'cto'
$$;

-- A time as entries have it, and no text that only compares like one.
CREATE FUNCTION cto.is_stamp(of_time TEXT) RETURNS BOOLEAN
LANGUAGE plpgsql IMMUTABLE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
BEGIN
    RETURN of_time ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z$' AND of_time::TIMESTAMPTZ IS NOT NULL;
EXCEPTION WHEN data_exception THEN
    RETURN FALSE;
END $$;

-- The canonical form of a value; that of an object that has a key twice is left out, so that it is not the text that was read.
CREATE FUNCTION cto.canonical(of_value JSON) RETURNS TEXT
LANGUAGE plpgsql IMMUTABLE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
DECLARE
    form TEXT;
BEGIN
    CASE json_typeof(of_value)
    WHEN 'object' THEN
        SELECT CASE WHEN count(*) = count(DISTINCT key) THEN
            '{' || coalesce(string_agg(to_json(key)::TEXT || ':' || canonical(value), ',' ORDER BY key COLLATE "C"), '') || '}' END
            INTO form FROM json_each(of_value);
    WHEN 'array' THEN
        SELECT '[' || coalesce(string_agg(canonical(value), ',' ORDER BY place), '') || ']'
            INTO form FROM json_array_elements(of_value) WITH ORDINALITY AS items (value, place);
    WHEN 'string' THEN
        form := to_json(of_value #>> '{}')::TEXT;
    ELSE
        form := btrim(of_value::TEXT);
    END CASE;
    RETURN form;
END $$;

CREATE FUNCTION cto.holds(of_run TEXT) RETURNS BOOLEAN
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
    SELECT EXISTS (SELECT 1 FROM holders WHERE run_id = of_run AND role IN (session_user::TEXT, ''))
$$;

-- Refuses an entry that a worker may not append.
CREATE FUNCTION cto.check_worker_entry(of_time TEXT, of_kind TEXT, of_run TEXT, of_body TEXT) RETURNS VOID
LANGUAGE plpgsql SECURITY DEFINER SET search_path = cto, pg_temp AS $$
DECLARE
    body JSON := as_json(of_body);
    of_whom TEXT := of_run;
BEGIN
    IF of_time > queue_clock(600) THEN
        RAISE EXCEPTION 'the entry is dated ahead of the server';
    END IF;
    IF json_typeof(body) <> 'object' OR canonical(body) IS DISTINCT FROM replace(of_body, '\u0000', U&'\FFFD') THEN
        RAISE EXCEPTION 'the body of the entry is not in its canonical form';
    END IF;
    CASE of_kind
    WHEN 'run.started' THEN
        IF NOT EXISTS (SELECT 1 FROM queue WHERE run_id = of_run) THEN
            INSERT INTO holders VALUES (of_run, session_user) ON CONFLICT DO NOTHING;
        END IF;
    WHEN 'engine.starting', 'evidence.sealed' THEN
        IF NOT EXISTS (SELECT 1 FROM runs WHERE run_id = of_run AND sealed_seq IS NULL) THEN
            RAISE EXCEPTION 'run % is not open', of_run;
        END IF;
    WHEN 'approval.used' THEN
        -- A request is used by a run of its own task and stage, and by no other.
        IF NOT EXISTS (SELECT 1 FROM runs r JOIN requests q ON q.task_id = r.task_id AND q.stage = r.stage
            WHERE r.run_id = of_run AND r.sealed_seq IS NULL AND q.request = body->>'request') THEN
            RAISE EXCEPTION 'run % is not one that the request is for', of_run;
        END IF;
    WHEN 'change.landed', 'evidence.collected' THEN
        NULL;
    WHEN 'queue.cancelled' THEN
        IF body->>'epoch' IS NULL THEN
            RAISE EXCEPTION 'a worker cancels under the epoch of its claim';
        END IF;
        of_whom := body->>'run_id';
    WHEN 'model.reserved', 'model.settled' THEN
        of_whom := body->>'run_id';
    WHEN 'run.late_refused', 'evidence.reverified' THEN
        RETURN;
    ELSE
        RAISE EXCEPTION 'entries of kind % are not a worker''s', of_kind;
    END CASE;
    IF of_whom IS NULL OR NOT holds(of_whom) THEN
        RAISE EXCEPTION 'run % is not of role %', of_whom, session_user;
    END IF;
END $$;

CREATE OR REPLACE FUNCTION cto.insert_entry(at BIGINT, of_time TEXT, of_kind TEXT, of_run TEXT, of_body TEXT, before TEXT, of_hash TEXT)
RETURNS VOID LANGUAGE plpgsql SECURITY DEFINER SET search_path = cto, pg_temp AS $$
BEGIN
    IF NOT is_stamp(of_time) THEN
        RAISE EXCEPTION 'the entry has no time';
    END IF;
    IF is_worker() THEN
        PERFORM check_worker_entry(of_time, of_kind, of_run, of_body);
    END IF;
    PERFORM insert_checked(at, of_time, of_kind, of_run, of_body, before, of_hash);
    PERFORM project_entry(at, of_time, of_kind, of_run, as_json(of_body));
    PERFORM queue_entry(at, of_time, of_kind, of_run, as_json(of_body));
    IF of_kind = 'run.started' THEN
        UPDATE counters SET value = value + 1 WHERE name = 'runs';
    END IF;
END $$;

-- Changes the queue as an entry says, and wakes the workers that wait for it. A cancellation with an epoch is that of the worker that claimed the run, and of no other.
CREATE OR REPLACE FUNCTION cto.queue_entry(at BIGINT, of_time TEXT, of_kind TEXT, of_run TEXT, body JSON) RETURNS VOID
LANGUAGE plpgsql SECURITY DEFINER SET search_path = cto, pg_temp AS $$
BEGIN
    CASE of_kind
    WHEN 'queue.submitted' THEN
        IF EXISTS (SELECT 1 FROM runs WHERE run_id = body->>'run_id') THEN
            RAISE EXCEPTION 'run % is in the ledger already', body->>'run_id';
        END IF;
        INSERT INTO queue (run_id, seq, submitted_at, task_id, engine, stage, workspace, target_key, priority, after_run, not_before,
            labels, state, epoch, stopping)
        VALUES (body->>'run_id', at, of_time, body->>'task_id', body->>'engine', (body->>'stage')::SMALLINT, body->>'workspace',
            body->>'target_key', (body->>'priority')::INTEGER, body->>'after', body->>'not_before', body->>'labels', 'queued', 0, FALSE);
        PERFORM pg_notify('cto_queue', '');
    WHEN 'queue.cancelled' THEN
        PERFORM pg_notify('cto_queue', '');
        UPDATE queue SET state = 'cancelled', owner = NULL, lease_until = NULL
        WHERE run_id = body->>'run_id' AND state IN ('queued', 'claimed')
        AND (body->>'epoch' IS NULL OR (state = 'claimed' AND epoch = (body->>'epoch')::BIGINT));
        IF NOT FOUND AND body->>'epoch' IS NOT NULL THEN
            RAISE EXCEPTION 'run % is not claimed under this epoch', body->>'run_id';
        ELSIF NOT FOUND THEN
            UPDATE queue SET stopping = TRUE WHERE run_id = body->>'run_id' AND state = 'started';
        END IF;
    WHEN 'run.started' THEN
        IF body->>'epoch' IS NOT NULL OR EXISTS (SELECT 1 FROM queue WHERE run_id = of_run) THEN
            UPDATE queue SET state = 'started', started_at = queue_clock(0), lease_until = NULL
            WHERE run_id = of_run AND state = 'claimed' AND epoch = (body->>'epoch')::BIGINT AND lease_until > queue_clock(0);
            IF NOT FOUND THEN
                RAISE EXCEPTION 'run % is not claimed under this epoch', of_run;
            END IF;
        END IF;
    WHEN 'evidence.sealed' THEN
        PERFORM pg_notify('cto_queue', '');
        UPDATE queue q SET state = 'sealed', lease_until = NULL, epoch = coalesce((SELECT l.epoch FROM leases l WHERE l.run_id = of_run), q.epoch),
            owner = coalesce((SELECT l.owner FROM leases l WHERE l.run_id = of_run), q.owner)
        WHERE q.run_id = of_run AND q.state = 'started';
    ELSE
        NULL;
    END CASE;
END $$;

-- The end of a lease that a worker may ask for: within a day of the server's own clock.
CREATE FUNCTION cto.check_lease_end(of_run TEXT, until TEXT) RETURNS VOID
LANGUAGE plpgsql SECURITY DEFINER SET search_path = cto, pg_temp AS $$
BEGIN
    IF NOT is_stamp(until) OR (is_worker() AND until > queue_clock(86400)) THEN
        RAISE EXCEPTION 'the lease of run % ends too late', of_run;
    END IF;
END $$;

-- A first lease, or one that follows the last once that has lapsed by the server's clock: an epoch is never given twice. A worker takes
-- the first lease of its own run, and takes over what has lapsed.
CREATE OR REPLACE FUNCTION cto.put_lease(of_run TEXT, of_owner TEXT, of_epoch BIGINT, until TEXT) RETURNS VOID
LANGUAGE plpgsql SECURITY DEFINER SET search_path = cto, pg_temp AS $$
DECLARE
    held leases;
BEGIN
    PERFORM check_lease_end(of_run, until);
    SELECT * INTO held FROM leases WHERE run_id = of_run FOR UPDATE;
    IF of_epoch <> coalesce(held.epoch + 1, (SELECT epoch FROM queue WHERE run_id = of_run), 1) THEN
        RAISE EXCEPTION 'the lease of run % has another epoch', of_run;
    END IF;
    IF held.lease_until > queue_clock(0) THEN
        RAISE EXCEPTION 'the lease of run % has not lapsed', of_run;
    END IF;
    IF is_worker() AND (NOT EXISTS (SELECT 1 FROM runs WHERE run_id = of_run AND sealed_seq IS NULL)
        OR (held.run_id IS NULL AND NOT holds(of_run))) THEN
        RAISE EXCEPTION 'run % is not of role %', of_run, session_user;
    END IF;
    INSERT INTO leases VALUES (of_run, of_owner, of_epoch, until)
    ON CONFLICT (run_id) DO UPDATE SET owner = of_owner, epoch = of_epoch, lease_until = until;
    INSERT INTO holders VALUES (of_run, session_user) ON CONFLICT (run_id) DO UPDATE SET role = session_user;
END $$;

CREATE OR REPLACE FUNCTION cto.renew_lease(of_run TEXT, of_epoch BIGINT, until TEXT) RETURNS BOOLEAN
LANGUAGE plpgsql SECURITY DEFINER SET search_path = cto, pg_temp AS $$
BEGIN
    PERFORM check_lease_end(of_run, until);
    UPDATE leases SET lease_until = until WHERE run_id = of_run AND epoch = of_epoch AND (NOT is_worker() OR holds(of_run));
    RETURN FOUND;
END $$;

-- One heartbeat: renews a lease of this epoch by the server's clock, and says whether the run is to stop. It takes no lock but that of
-- the row, so that a thousand of them do not wait for each other.
CREATE FUNCTION cto.keep_lease(of_run TEXT, of_epoch BIGINT, seconds DOUBLE PRECISION) RETURNS TABLE (held BOOLEAN, stopping BOOLEAN)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
BEGIN
    PERFORM check_lease_end(of_run, queue_clock(seconds));
    UPDATE leases l SET lease_until = queue_clock(seconds) WHERE l.run_id = of_run AND l.epoch = of_epoch
        AND (NOT is_worker() OR holds(of_run));
    RETURN QUERY SELECT FOUND, coalesce((SELECT q.stopping FROM queue q WHERE q.run_id = of_run), FALSE);
END $$;

-- Lets a claim lapse early.
CREATE FUNCTION cto.queue_shorten(of_run TEXT, of_epoch BIGINT, until TEXT) RETURNS VOID
LANGUAGE plpgsql SECURITY DEFINER SET search_path = cto, pg_temp AS $$
BEGIN
    PERFORM check_lease_end(of_run, until);
    UPDATE queue SET lease_until = until WHERE run_id = of_run AND epoch = of_epoch AND state = 'claimed' AND lease_until > until
        AND (NOT is_worker() OR holds(of_run));
END $$;

-- Takes the run whose turn it is, as before, and notes whose it is.
ALTER FUNCTION cto.queue_claim(JSONB) RENAME TO queue_next;
CREATE FUNCTION cto.queue_claim(asked JSONB) RETURNS SETOF cto.queue
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
DECLARE
    claimed queue;
BEGIN
    PERFORM check_lease_end('?', queue_clock((asked->>'lease_seconds')::DOUBLE PRECISION));
    FOR claimed IN SELECT * FROM queue_next(asked) LOOP
        INSERT INTO holders VALUES (claimed.run_id, session_user) ON CONFLICT (run_id) DO UPDATE SET role = session_user;
        RETURN NEXT claimed;
    END LOOP;
END $$;

-- One row by its key is not looked for among all of them.
CREATE OR REPLACE FUNCTION cto.find_queue(asked JSONB) RETURNS SETOF cto.queue
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
BEGIN
    IF asked ? 'run_id' THEN
        RETURN QUERY SELECT q.run_id, q.seq, q.submitted_at, q.task_id, q.engine, q.stage, q.workspace, q.target_key, q.priority,
            q.after_run, q.not_before, q.labels, q.state, coalesce(l.epoch, q.epoch), coalesce(l.owner, q.owner),
            coalesce(l.lease_until, q.lease_until), q.started_at, q.stopping
        FROM queue q LEFT JOIN leases l ON l.run_id = q.run_id WHERE q.run_id = asked->>'run_id';
        RETURN;
    END IF;
    RETURN QUERY SELECT q.run_id, q.seq, q.submitted_at, q.task_id, q.engine, q.stage, q.workspace, q.target_key, q.priority,
        q.after_run, q.not_before, q.labels, q.state, coalesce(l.epoch, q.epoch), coalesce(l.owner, q.owner),
        coalesce(l.lease_until, q.lease_until), q.started_at, q.stopping
    FROM queue q LEFT JOIN leases l ON l.run_id = q.run_id
    WHERE q.state IN ('queued', 'claimed', 'started')
    ORDER BY q.state = 'queued', q.priority DESC, q.seq LIMIT (asked->>'limit')::BIGINT;
    IF asked ? 'ended' THEN
        RETURN QUERY SELECT q.* FROM queue q WHERE q.state IN ('sealed', 'cancelled') ORDER BY q.seq DESC
            LIMIT greatest(0, (asked->>'limit')::BIGINT - (SELECT count(*) FROM queue a WHERE a.state IN ('queued', 'claimed', 'started')));
    END IF;
END $$;
CREATE INDEX queue_ended ON cto.queue (seq DESC) WHERE state IN ('sealed', 'cancelled');

-- Entries, as before. A worker reads the contracts of its own runs alone: of others the body is empty, and the chain cannot be checked.
ALTER FUNCTION cto.find_entries(JSONB) RENAME TO all_entries;
CREATE FUNCTION cto.find_entries(asked JSONB) RETURNS SETOF cto.entries
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
BEGIN
    IF NOT is_worker() THEN
        RETURN QUERY SELECT * FROM all_entries(asked);
        RETURN;
    END IF;
    RETURN QUERY SELECT e.seq, e.time, e.kind, e.run_id,
        (CASE WHEN e.kind = 'run.started' AND NOT holds(e.run_id)
            OR e.kind = 'queue.submitted' AND NOT holds(as_json(e.body)->>'run_id') THEN '{}' ELSE e.body END)::cto.word,
        e.prev, e.hash, e.request FROM all_entries(asked) e;
END $$;

-- Takes a row of another ledger's queue. Not for workers.
CREATE FUNCTION cto.copy_queued(of_row JSON) RETURNS VOID
LANGUAGE sql SECURITY DEFINER SET search_path = cto, pg_temp AS $$
    INSERT INTO queue (run_id, seq, submitted_at, task_id, engine, stage, workspace, target_key, priority, after_run, not_before,
        labels, state, epoch, owner, lease_until, started_at, stopping)
    VALUES (of_row->>'run_id', (of_row->>'seq')::BIGINT, of_row->>'submitted_at', of_row->>'task_id', of_row->>'engine',
        (of_row->>'stage')::SMALLINT, of_row->>'workspace', of_row->>'target_key', (of_row->>'priority')::INTEGER, of_row->>'after',
        of_row->>'not_before', of_row->>'labels', of_row->>'state', (of_row->>'epoch')::BIGINT, of_row->>'owner',
        of_row->>'lease_until', of_row->>'started_at', (of_row->>'stopping')::BOOLEAN)
$$;

-- The object store that the witnesses of this ledger lie in: the first that a home names, and from then on no other. An operator may
-- name another one.
CREATE FUNCTION cto.bind_evidence(place TEXT, anew BOOLEAN) RETURNS TEXT
LANGUAGE plpgsql SECURITY DEFINER SET search_path = cto, pg_temp AS $$
BEGIN
    IF anew AND is_worker() THEN
        RAISE EXCEPTION 'a worker does not say where witnesses lie';
    END IF;
    IF place <> '' THEN
        INSERT INTO meta VALUES ('evidence_store', place) ON CONFLICT DO NOTHING;
    END IF;
    IF anew THEN
        UPDATE meta SET value = place WHERE key = 'evidence_store';
    END IF;
    RETURN coalesce((SELECT value FROM meta WHERE key = 'evidence_store'), '');
END $$;
