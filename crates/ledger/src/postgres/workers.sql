-- Machines of a fleet: an entry that removes one makes its role useless at once.

CREATE TABLE cto.workers (
    role cto.word PRIMARY KEY,
    removed BOOLEAN NOT NULL
);

CREATE FUNCTION cto.is_removed() RETURNS BOOLEAN
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
    SELECT EXISTS (SELECT 1 FROM workers WHERE role = session_user::TEXT AND removed)
$$;

CREATE FUNCTION cto.refuse_removed() RETURNS VOID
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
BEGIN
    IF is_removed() THEN
        RAISE EXCEPTION 'role % was removed from the fleet', session_user;
    END IF;
END $$;

-- The role that an admission or a removal names. Nobody locks themselves out, or the owner.
CREATE FUNCTION cto.note_worker(of_kind TEXT, of_role TEXT) RETURNS VOID
LANGUAGE plpgsql SECURITY DEFINER SET search_path = cto, pg_temp AS $$
BEGIN
    IF of_kind = 'worker.removed' AND (of_role = session_user::TEXT
        OR of_role = (SELECT nspowner::REGROLE::TEXT FROM pg_catalog.pg_namespace WHERE nspname = 'cto')) THEN
        RAISE EXCEPTION 'role % is the own one or the owner of the schema, and is not removed', of_role;
    END IF;
    INSERT INTO workers AS w VALUES (of_role, of_kind = 'worker.removed')
        ON CONFLICT (role) DO UPDATE SET removed = of_kind = 'worker.removed';
END $$;

CREATE OR REPLACE FUNCTION cto.insert_entry(at BIGINT, of_time TEXT, of_kind TEXT, of_run TEXT, of_body TEXT, before TEXT, of_hash TEXT)
RETURNS VOID LANGUAGE plpgsql SECURITY DEFINER SET search_path = cto, pg_temp AS $$
BEGIN
    PERFORM refuse_removed();
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
    ELSIF of_kind IN ('worker.admitted', 'worker.removed') AND as_json(of_body)->>'role' IS NOT NULL THEN
        PERFORM note_worker(of_kind, as_json(of_body)->>'role');
    END IF;
END $$;

-- Makes the rows again, as before, and the roles of machines with them.
ALTER FUNCTION cto.project_again() RENAME TO project_runs_again;
CREATE FUNCTION cto.project_again() RETURNS VOID
LANGUAGE plpgsql SECURITY DEFINER SET search_path = cto, pg_temp AS $$
BEGIN
    PERFORM project_runs_again();
    DELETE FROM workers;
    INSERT INTO workers SELECT DISTINCT ON (as_json(body)->>'role') as_json(body)->>'role', kind = 'worker.removed' FROM entries
        WHERE kind IN ('worker.admitted', 'worker.removed') AND as_json(body)->>'role' IS NOT NULL
        ORDER BY as_json(body)->>'role', seq DESC;
END $$;

-- As before. Every step that takes or keeps a lease comes through here.
CREATE OR REPLACE FUNCTION cto.check_lease_end(of_run TEXT, until TEXT) RETURNS VOID
LANGUAGE plpgsql SECURITY DEFINER SET search_path = cto, pg_temp AS $$
BEGIN
    PERFORM refuse_removed();
    IF NOT is_stamp(until) OR (is_worker() AND until > queue_clock(86400)) THEN
        RAISE EXCEPTION 'the lease of run % ends too late', of_run;
    END IF;
END $$;

-- As before: a removed role has no run, and reads no contract.
CREATE OR REPLACE FUNCTION cto.holds(of_run TEXT) RETURNS BOOLEAN
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
    SELECT NOT is_removed() AND EXISTS (SELECT 1 FROM holders WHERE run_id = of_run AND role IN (session_user::TEXT, ''))
$$;

CREATE OR REPLACE FUNCTION cto.needs_request(wanted TEXT) RETURNS BOOLEAN
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
    SELECT NOT is_removed() AND EXISTS (SELECT 1 FROM requests q JOIN queue t ON t.task_id = q.task_id AND t.stage = q.stage
        JOIN holders h ON h.run_id = t.run_id
        WHERE q.request = wanted AND t.state IN ('claimed', 'started') AND h.role = session_user::TEXT AND NOT h.taken)
$$;

-- The order in which runs of the queue are listed.
CREATE INDEX queue_listed ON cto.queue ((state = 'queued'), priority DESC, seq) WHERE state IN ('queued', 'claimed', 'started');

-- Seconds until a run can be claimed without anybody's notice: one that waits for its time, or whose claim lapses.
CREATE FUNCTION cto.queue_due() RETURNS DOUBLE PRECISION
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
    SELECT extract(epoch FROM least(
        (SELECT min(not_before) FROM queue WHERE state = 'queued' AND not_before > queue_clock(0)),
        (SELECT min(lease_until) FROM queue WHERE state = 'claimed'))::TIMESTAMPTZ - clock_timestamp())::DOUBLE PRECISION
$$;
CREATE INDEX queue_by_time ON cto.queue (not_before) WHERE state = 'queued';
CREATE INDEX queue_by_lease ON cto.queue (lease_until) WHERE state = 'claimed';

-- Takes the run whose turn it is, as before. Each condition is asked of one row after the other in the order of the index: a condition that
-- became a join would read the whole queue for every claim.
CREATE OR REPLACE FUNCTION cto.queue_next(asked JSONB) RETURNS SETOF cto.queue
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
DECLARE
    at_time TEXT;
BEGIN
    IF asked ?| ARRAY['engine_limits', 'workspace_limit', 'day_limit'] THEN
        PERFORM pg_advisory_xact_lock(x'63746f51'::BIGINT);
    END IF;
    at_time := queue_clock(0);
    UPDATE queue SET state = 'queued', owner = NULL, lease_until = NULL WHERE run_id IN (
        SELECT q.run_id FROM queue q WHERE q.state = 'claimed' AND q.lease_until <= at_time FOR UPDATE SKIP LOCKED);
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
