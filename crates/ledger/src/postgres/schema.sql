-- Tables of a ledger on a server, and the functions by which alone they are read and written.
-- A worker's role may call some of the functions and has no right on any table. Each function runs with its owner's rights and
-- names its own search path, so that a caller cannot put a table or an operator of the same name before ours.

-- Texts compare by their bytes, whatever language the database was set up for.
CREATE DOMAIN cto.word AS TEXT COLLATE "C";

CREATE TABLE cto.meta (key cto.word PRIMARY KEY, value cto.word NOT NULL);
CREATE TABLE cto.counters (name cto.word PRIMARY KEY, value BIGINT NOT NULL);
INSERT INTO cto.counters VALUES ('runs', 0);

CREATE TABLE cto.entries (
    seq BIGINT PRIMARY KEY,
    time cto.word NOT NULL,
    kind cto.word NOT NULL,
    run_id cto.word,
    body cto.word NOT NULL,
    prev cto.word NOT NULL,
    hash cto.word NOT NULL,
    -- The request that an entry about an approval names.
    request cto.word
);
CREATE INDEX entries_by_run ON cto.entries (run_id, seq) WHERE run_id IS NOT NULL;
CREATE INDEX entries_by_time ON cto.entries (time);
CREATE INDEX entries_by_kind ON cto.entries (kind, seq);
CREATE INDEX entries_of_models ON cto.entries (time) WHERE kind IN ('model.reserved', 'model.settled');
CREATE INDEX entries_by_request ON cto.entries (request, seq) WHERE request IS NOT NULL;

CREATE TABLE cto.runs (
    seq BIGINT PRIMARY KEY,
    run_id cto.word NOT NULL UNIQUE,
    suffix cto.word NOT NULL,
    task_id cto.word NOT NULL,
    engine cto.word NOT NULL,
    stage SMALLINT NOT NULL,
    purpose cto.word NOT NULL,
    status cto.word NOT NULL,
    started_at cto.word NOT NULL,
    finished_at cto.word,
    duration_ms BIGINT,
    reasons cto.word NOT NULL,
    tests_passed BIGINT,
    tests_executed BIGINT,
    attestation_sha256 cto.word,
    bundle cto.word,
    sealed_seq BIGINT,
    owner cto.word,
    source_id cto.word,
    model cto.word,
    collected_seq BIGINT,
    outcome_seq BIGINT
);
-- Every list is a range of one index in listing order.
CREATE INDEX runs_by_suffix ON cto.runs (suffix);
CREATE INDEX runs_by_time ON cto.runs (started_at, seq);
CREATE INDEX runs_by_status ON cto.runs (status, started_at, seq);
CREATE INDEX runs_by_engine ON cto.runs (engine, started_at, seq);
CREATE INDEX runs_by_task ON cto.runs (task_id, started_at, seq);
CREATE INDEX runs_by_purpose ON cto.runs (purpose, started_at, seq);
CREATE INDEX runs_by_rung ON cto.runs (engine, purpose, stage, source_id, model, started_at, seq);
CREATE INDEX runs_to_weigh ON cto.runs (engine, purpose, stage, source_id, model, started_at, seq)
    WHERE collected_seq IS NULL OR status <> 'pass';
CREATE INDEX passes_by_rung ON cto.runs (engine, purpose, stage, source_id, model, started_at, seq)
    WHERE status = 'pass' AND collected_seq IS NULL;
CREATE INDEX passes_by_stage ON cto.runs (engine, purpose, stage, started_at, seq)
    WHERE status = 'pass' AND collected_seq IS NULL;
CREATE INDEX runs_by_model ON cto.runs (engine, purpose, model, started_at, seq) WHERE right(source_id, 8) <> '@unknown';
CREATE INDEX runs_unanswered ON cto.runs (started_at, seq)
    WHERE status = 'pass' AND purpose = 'governed' AND stage >= 5 AND outcome_seq IS NULL AND collected_seq IS NULL;

CREATE TABLE cto.leases (
    run_id cto.word PRIMARY KEY,
    owner cto.word NOT NULL,
    epoch BIGINT NOT NULL,
    lease_until cto.word NOT NULL
);

CREATE TABLE cto.requests (
    request cto.word PRIMARY KEY,
    seq BIGINT NOT NULL UNIQUE,
    task_id cto.word NOT NULL,
    stage SMALLINT NOT NULL,
    requested_at cto.word NOT NULL,
    grants BIGINT NOT NULL DEFAULT 0,
    held_seq BIGINT,
    denied_seq BIGINT,
    revoked_seq BIGINT,
    used_seq BIGINT,
    used_by cto.word
);
CREATE INDEX requests_by_task ON cto.requests (task_id, seq);
CREATE INDEX requests_undecided ON cto.requests (seq)
    WHERE used_seq IS NULL AND denied_seq IS NULL AND revoked_seq IS NULL;

CREATE FUNCTION cto.refuse_change() RETURNS trigger LANGUAGE plpgsql SET search_path = cto, pg_temp AS $$
BEGIN
    RAISE EXCEPTION 'ledger entries are append-only';
END $$;
CREATE TRIGGER entries_are_never_changed BEFORE UPDATE OR TRUNCATE ON cto.entries
    FOR EACH STATEMENT EXECUTE FUNCTION cto.refuse_change();
CREATE TRIGGER entries_are_never_deleted BEFORE DELETE ON cto.entries
    FOR EACH STATEMENT EXECUTE FUNCTION cto.refuse_change();
