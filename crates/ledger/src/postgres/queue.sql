-- The queue: one row a submitted run. Rows are made and changed by entries of the chain and by the one function that claims; the order
-- itself stands in the entry that submitted it.

CREATE TABLE cto.queue (
    run_id cto.word PRIMARY KEY,
    seq BIGINT NOT NULL UNIQUE,
    submitted_at cto.word NOT NULL,
    task_id cto.word NOT NULL,
    engine cto.word NOT NULL,
    stage SMALLINT NOT NULL,
    workspace cto.word NOT NULL,
    target_key cto.word,
    priority INTEGER NOT NULL,
    after_run cto.word,
    not_before cto.word,
    labels cto.word NOT NULL,
    state cto.word NOT NULL,
    epoch BIGINT NOT NULL,
    owner cto.word,
    lease_until cto.word,
    started_at cto.word,
    stopping BOOLEAN NOT NULL
);
-- One active run a target, whoever claims.
CREATE UNIQUE INDEX queue_targets ON cto.queue (target_key) WHERE state IN ('claimed', 'started');
CREATE INDEX queue_waiting ON cto.queue (priority DESC, seq) WHERE state = 'queued';
CREATE INDEX queue_active ON cto.queue (state, engine) WHERE state IN ('claimed', 'started');
CREATE INDEX queue_by_start ON cto.queue (started_at) WHERE started_at IS NOT NULL;

-- The time in so many seconds, by the server's clock: no worker's clock says when a lease ends.
CREATE FUNCTION cto.queue_clock(seconds DOUBLE PRECISION) RETURNS TEXT
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
    SELECT to_char((clock_timestamp() + make_interval(secs => seconds)) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
$$;

-- Takes the run whose turn it is. Claims that have lapsed are queued again first. Where limits are given, one worker counts at a time.
CREATE FUNCTION cto.queue_claim(asked JSONB) RETURNS SETOF cto.queue
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
        AND NOT EXISTS (SELECT 1 FROM queue b WHERE b.run_id = q.after_run AND b.state IN ('queued', 'claimed', 'started'))
        AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.run_id = q.after_run AND r.sealed_seq IS NULL)
        AND NOT EXISTS (SELECT 1 FROM queue t WHERE t.target_key = q.target_key AND t.state IN ('claimed', 'started'))
        AND coalesce((SELECT count(*) FROM queue e WHERE e.engine = q.engine AND e.state IN ('claimed', 'started'))
            < (asked->'engine_limits'->>q.engine)::BIGINT, TRUE)
        AND coalesce((SELECT count(*) FROM queue s WHERE s.workspace = q.workspace AND s.state IN ('claimed', 'started'))
            < (asked->>'workspace_limit')::BIGINT, TRUE)
        AND (NOT asked ? 'day_limit' OR (SELECT count(*) FROM queue d WHERE d.started_at >= left(at_time, 10) OR d.state = 'claimed')
            < (asked->>'day_limit')::BIGINT)
        ORDER BY q.priority DESC, q.seq LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING *;
EXCEPTION WHEN unique_violation THEN
    -- Another worker took a run of the same target a moment before: whoever asks again finds what is left.
    RETURN;
END $$;

-- The lease of a started run is that of a live run.
CREATE FUNCTION cto.find_queue(asked JSONB) RETURNS SETOF cto.queue
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
    SELECT q.run_id, q.seq, q.submitted_at, q.task_id, q.engine, q.stage, q.workspace, q.target_key, q.priority, q.after_run, q.not_before,
        q.labels, q.state, coalesce(l.epoch, q.epoch), coalesce(l.owner, q.owner), coalesce(l.lease_until, q.lease_until), q.started_at,
        q.stopping
    FROM queue q LEFT JOIN leases l ON l.run_id = q.run_id
    WHERE (NOT asked ? 'run_id' OR q.run_id = asked->>'run_id')
    AND (asked ? 'run_id' OR asked ? 'ended' OR q.state IN ('queued', 'claimed', 'started'))
    ORDER BY q.state IN ('sealed', 'cancelled'), CASE WHEN q.state IN ('sealed', 'cancelled') THEN -q.seq END, q.state = 'queued',
        q.priority DESC, q.seq
    LIMIT (asked->>'limit')::BIGINT
$$;

-- Changes the queue as an entry says. A run of the queue starts under the epoch of its claim or not at all. Not for workers.
CREATE FUNCTION cto.queue_entry(at BIGINT, of_time TEXT, of_kind TEXT, of_run TEXT, body JSON) RETURNS VOID
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
    WHEN 'queue.cancelled' THEN
        UPDATE queue SET state = 'cancelled', owner = NULL, lease_until = NULL
        WHERE run_id = body->>'run_id' AND state IN ('queued', 'claimed');
        IF NOT FOUND THEN
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
        UPDATE queue q SET state = 'sealed', lease_until = NULL, epoch = coalesce((SELECT l.epoch FROM leases l WHERE l.run_id = of_run), q.epoch),
            owner = coalesce((SELECT l.owner FROM leases l WHERE l.run_id = of_run), q.owner)
        WHERE q.run_id = of_run AND q.state = 'started';
    ELSE
        NULL;
    END CASE;
END $$;

CREATE OR REPLACE FUNCTION cto.insert_entry(at BIGINT, of_time TEXT, of_kind TEXT, of_run TEXT, of_body TEXT, before TEXT, of_hash TEXT)
RETURNS VOID LANGUAGE plpgsql SECURITY DEFINER SET search_path = cto, pg_temp AS $$
BEGIN
    PERFORM insert_checked(at, of_time, of_kind, of_run, of_body, before, of_hash);
    PERFORM project_entry(at, of_time, of_kind, of_run, as_json(of_body));
    PERFORM queue_entry(at, of_time, of_kind, of_run, as_json(of_body));
    IF of_kind = 'run.started' THEN
        UPDATE counters SET value = value + 1 WHERE name = 'runs';
    END IF;
END $$;

-- A first lease, or one that follows the last: an epoch is never given twice. That of a queued run begins with its claim.
CREATE OR REPLACE FUNCTION cto.put_lease(of_run TEXT, of_owner TEXT, of_epoch BIGINT, until TEXT) RETURNS VOID
LANGUAGE plpgsql SECURITY DEFINER SET search_path = cto, pg_temp AS $$
BEGIN
    IF of_epoch <> coalesce((SELECT epoch + 1 FROM leases WHERE run_id = of_run), (SELECT epoch FROM queue WHERE run_id = of_run), 1) THEN
        RAISE EXCEPTION 'the lease of run % has another epoch', of_run;
    END IF;
    INSERT INTO leases VALUES (of_run, of_owner, of_epoch, until)
    ON CONFLICT (run_id) DO UPDATE SET owner = of_owner, epoch = of_epoch, lease_until = until;
END $$;
